package keys_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/restore/keys"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// largeMember answers each read with one key, whose value has 15 MiB, and holds back the last byte.
func largeMember(t *testing.T, reads *atomic.Int64) string {
	t.Helper()
	value := make([]byte, 15<<20)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := reads.Add(1)
		pair := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), fmt.Sprintf("/a/%06d", n))
		pair = protowire.AppendVarint(protowire.AppendTag(pair, 3, protowire.VarintType), 2)
		pair = protowire.AppendVarint(protowire.AppendTag(pair, 5, protowire.BytesType), uint64(len(value)))
		answer := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), []byte{3 << 3, 9}) // the header, with the revision
		if n < 60 {
			answer = protowire.AppendVarint(protowire.AppendTag(answer, 3, protowire.VarintType), 1) // there are more keys
		}
		answer = protowire.AppendVarint(protowire.AppendTag(answer, 2, protowire.BytesType), uint64(len(pair)+len(value)))
		answer = append(answer, pair...)
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(answer)+len(value))))
		_, _ = w.Write(answer)
		_, _ = w.Write(value[1:])
		_ = http.NewResponseController(w).Flush()
		<-time.After(500 * time.Millisecond)
		_, _ = w.Write(value[:1])
		w.Header().Set("Grpc-Status", "0")
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// A member of a tenant sends a value of 15 MiB in each page. Six attempts to write keys held two pages each, and six comparisons one, and each takes two or three
// times its size while it is read: restore-operator was ended for all namespaces.
func TestReadingsOfHostileMembersTakeBoundedMemory(t *testing.T) {
	var reads atomic.Int64
	url := largeMember(t, &reads)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	gate := turns.NewGate(2)
	heaptest.Bound(t, 500, func() {
		var all sync.WaitGroup
		for n := range 12 {
			all.Go(func() {
				client, err := etcd.OpenBriefly(etcd.Endpoint{URL: url}, nil)
				if err != nil {
					t.Error(err)
					return
				}
				defer client.Close()
				none := dbfile.NewEntries(bytes.NewReader(nil), bytes.NewReader(nil), 0)
				_, err = keys.Run(ctx, client, none, keys.Order{Prefixes: []string{"/a/"}, Revision: 9, Write: n%2 == 0, Prune: true, Large: func(ctx context.Context) (func(), error) {
					return gate.Enter(ctx, fmt.Sprint(n/3))
				}})
				if err != nil {
					t.Log(err)
				}
			})
		}
		all.Wait()
	})
	t.Logf("%d reads", reads.Load())
}
