package watch

import (
	"context"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
)

// server answers as gRPC. answer returns what one answer has, and whether the call then stays open.
func server(t *testing.T, answer func(method string) (body []byte, open bool)) *Client {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		body, open := answer(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:])
		_, _ = w.Write(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))))
		_, _ = w.Write(body)
		w.(http.Flusher).Flush()
		if open {
			<-r.Context().Done()
		}
		w.Header().Set("Grpc-Status", "0")
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

func encoded(t *testing.T, m proto.Message) []byte {
	t.Helper()
	body, err := proto.Marshal(m)
	if err != nil {
		t.Error(err)
	}
	return body
}

// A server that a user names answers as etcd does, until an archiver runs. Then it leaves the header out of an answer. Before, that ended
// backup-operator, and so the backups of all namespaces.
func TestAnAnswerWithoutAHeaderDoesNotEndTheOperator(t *testing.T) {
	const enough = 4
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var ranges atomic.Int32
	client := server(t, func(method string) ([]byte, bool) {
		header := &pb.ResponseHeader{ClusterId: 7, Revision: 42}
		switch method {
		case "Range":
			if ranges.Add(1) > 1 {
				header = nil
			}
			if ranges.Load() > enough {
				cancel()
			}
			return encoded(t, &pb.RangeResponse{Header: header}), false
		case "AuthStatus":
			return encoded(t, &pb.AuthStatusResponse{Header: header, AuthRevision: 1}), false
		}
		return encoded(t, &pb.WatchResponse{Header: header, Created: true}), true
	})
	store, err := file.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a := archiver.New(archiver.Options{
		Cluster: client, Store: store, Root: "continuous-archive/ns/name/", Dir: t.TempDir(), Now: time.Now, MaxLag: 100 * time.Millisecond,
		TakeBase: func(context.Context, string) (archiver.Base, error) {
			return archiver.Base{Key: "base", ClusterID: 7, Revision: 42, At: time.Now()}, nil
		},
	})
	if err := a.Run(ctx); ranges.Load() < enough {
		t.Errorf("the archiver ended after %d answers: %v", ranges.Load(), err)
	}
}
