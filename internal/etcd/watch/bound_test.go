package watch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// sending is a member that sends a change of some size, in pieces of another.
type sending struct{ size, piece int }

// serve sends the change as it is, so that it takes no memory of the test.
func (s sending) serve(t *testing.T) *Client {
	t.Helper()
	value := s.size - 32 // beside the key, the revisions and the sizes
	kv := protowire.AppendVarint(protowire.AppendTag(encoded(t, &mvccpb.KeyValue{Key: []byte("k"), CreateRevision: 9, ModRevision: 9}), 5, protowire.BytesType), uint64(value))
	event := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.BytesType), uint64(len(kv)+value))
	message := protowire.AppendVarint(protowire.AppendTag(encoded(t, &pb.WatchResponse{Header: &pb.ResponseHeader{ClusterId: 7}}), fieldEvents, protowire.BytesType), uint64(len(event)+len(kv)+value))
	size := len(message) + len(event) + len(kv) + value
	return writing(t, func(w http.ResponseWriter) {
		_, _ = w.Write(slices.Concat(binary.BigEndian.AppendUint32([]byte{0}, uint32(size)), message, event, kv))
		piece := make([]byte, s.piece)
		for left := value; left > 0; left -= len(piece) {
			piece = piece[:min(left, s.piece)]
			if _, err := w.Write(piece); err != nil {
				return
			}
			if s.piece < 1<<10 {
				w.(http.Flusher).Flush()
			}
		}
	})
}

// writing is a member that answers a watch with what a function writes.
func writing(t *testing.T, write func(http.ResponseWriter)) *Client {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		write(w)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	client, err := Open(t.Context(), Options{Endpoints: []string{server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// one receives one change, and returns its memory.
func one(ctx context.Context, client *Client, size int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := client.Watch(ctx, 2)
	if err != nil {
		return err
	}
	r, err := s.Receive()
	if err == nil && (len(r.Events) != 1 || len(r.Events[0].Kv.Value) != size-32) {
		err = fmt.Errorf("%d events", len(r.Events))
	}
	if r.Release != nil {
		r.Release()
	}
	return err
}

// An etcd that a user names sends a change of ten times the bound. Its length comes first, so the operator must not make room for it.
func TestAChangeOfTenTimesTheBoundTakesNoMemory(t *testing.T) {
	client := sending{10 * maxEvent, 1 << 20}.serve(t)
	heaptest.Bound(t, 16, func() {
		if err := one(t.Context(), client, 10*maxEvent); err == nil || !strings.Contains(err.Error(), "larger than 64 MiB") {
			t.Errorf("error %v, want one with the bound", err)
		}
	})
}

// Twenty archives of one namespace watched an etcd that its user had written. Each held 64 MiB at the same time, and the operator of all namespaces
// ran out of memory.
func TestLargeChangesOfManyArchivesTakeTheMemoryOfAFew(t *testing.T) {
	const archives, budget = 20, 256 << 20
	memory := turns.NewBudget(budget)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	defer debug.SetGCPercent(debug.SetGCPercent(5)) // measure what is held
	client := sending{maxEvent, 1 << 20}.serve(t)
	client.options.Memory = func(ctx context.Context, bytes int64) (func(), error) { return memory.Wait(ctx, "hostile", bytes) }
	heaptest.Bound(t, (budget+archives*(2<<20))>>20, func() {
		var group sync.WaitGroup
		for range archives {
			group.Go(func() {
				if err := one(ctx, client, maxEvent); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	})
	if used := memory.Used(); used != 0 {
		t.Errorf("%d bytes are in use in the end", used)
	}
}

// gRPC keeps each piece of a message in a buffer of its own. One MiB in pieces of a byte took 100 MiB.
func TestAChangeInTheSmallestPiecesTakesItsOwnSize(t *testing.T) {
	const size = 512 << 10
	client := sending{size, 1}.serve(t)
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	heaptest.Bound(t, 16, func() {
		if err := one(t.Context(), client, size); err != nil {
			t.Error(err)
		}
	})
}

// A server takes the memory of large changes, and never sends them. The archives of all others would wait.
func TestAMemberThatIsSlowWithALargeChangeLosesItsMemory(t *testing.T) {
	memory := turns.NewBudget(Largest * 2)
	s := sent(t)
	s.client.options.Memory = func(ctx context.Context, bytes int64) (func(), error) { return memory.Wait(ctx, "hostile", bytes) }
	large, err := s.admit(maxEvent)
	if err != nil || memory.Used() != Largest {
		t.Fatalf("%d bytes are in use, %v", memory.Used(), err)
	}
	large.slow.Reset(0)
	for memory.Used() != 0 {
		runtime.Gosched()
	}
	if _, err := s.Receive(); !errors.Is(err, errSlow) {
		t.Error(err)
	}
}
