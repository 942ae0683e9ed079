package watch

import (
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// An etcd that a user names sends a message of ten times the bound. Its length comes first, so the operator must not make room for it.
func TestAMessageOfTenTimesTheBoundTakesNoMemory(t *testing.T) {
	frame := func(size int) []byte { return binary.BigEndian.AppendUint32([]byte{0}, uint32(size)) }
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		if strings.HasSuffix(r.URL.Path, "/Range") {
			w.Header().Set("Trailer", "Grpc-Status")
			body, err := proto.Marshal(&pb.RangeResponse{Header: &pb.ResponseHeader{ClusterId: 7, Revision: 42}})
			if err != nil {
				t.Error(err)
			}
			_, _ = w.Write(append(frame(len(body)), body...))
			w.Header().Set("Grpc-Status", "0")
			return
		}
		_, _ = w.Write(frame(10 * maxMessage))
		for piece := make([]byte, 1<<20); ; {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	client, err := Open(t.Context(), Options{Endpoints: []string{server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	heaptest.Bound(t, 32, func() {
		stream, err := client.Watch(t.Context(), 3)
		if err == nil {
			_, err = stream.Receive()
		}
		if err == nil || !strings.Contains(err.Error(), "larger than 64 MiB") {
			t.Errorf("error %v, want one with the bound", err)
		}
	})
}
