package cli

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
)

// streams is a member that sends so many bytes of a snapshot, and then ends or fails.
type streams struct {
	pb.UnimplementedMaintenanceServer
	content []byte
	fails   bool
}

func (s *streams) Snapshot(_ *pb.SnapshotRequest, to pb.Maintenance_SnapshotServer) error {
	const chunk = 32 << 10
	for rest := s.content; len(rest) > 0; {
		n := min(chunk, len(rest))
		if err := to.Send(&pb.SnapshotResponse{Blob: rest[:n], RemainingBytes: uint64(len(rest) - n)}); err != nil {
			return err
		}
		rest = rest[n:]
	}
	if s.fails {
		return status.Error(codes.Unavailable, "the member ends")
	}
	return nil
}

// behind is an API server whose tunnels lead to a member.
func behind(t *testing.T, member pb.MaintenanceServer) string {
	t.Helper()
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	etcd := grpc.NewServer()
	pb.RegisterMaintenanceServer(etcd, member)
	go func() { _ = etcd.Serve(listener) }()
	t.Cleanup(etcd.Stop)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
			return // a WebSocket: the client falls back to SPDY
		}
		conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
			if stream.Headers().Get(corev1.StreamType) != corev1.StreamTypeData {
				return nil
			}
			to, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				return err
			}
			go func() { _, _ = io.Copy(to, stream); to.Close() }()
			go func() { _, _ = io.Copy(stream, to); _ = stream.Close() }()
			return nil
		})
		if conn != nil {
			<-conn.CloseChan()
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A cluster without a backup, or whose store is lost, has its data only in its members. A user without a way to its network must get it.
func TestAMemberSendsItsDataWithoutAStore(t *testing.T) {
	content := dbfiletest.New(t, 1).Put(98, 1000).Snapshot()
	for name, c := range map[string]struct {
		member *streams
		says   string
	}{
		"whole":   {&streams{content: content}, ""},
		"half":    {&streams{content: content[:len(content)/2], fails: true}, "code = Unavailable"},
		"damaged": {&streams{content: append([]byte{content[0] ^ 1}, content[1:]...)}, "SHA-256"},
	} {
		k := kitAt(t, &rest.Config{Host: behind(t, c.member)})
		plain := k.cluster(t)
		plain.Spec.TLS = nil
		if err := k.Known.Update(t.Context(), plain); err != nil {
			t.Fatal(err)
		}
		pod := podOf("example-a")
		if err := k.Known.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			t.Fatal(err)
		}
		pod.Spec.Containers[0].Command = []string{"etcd", "--advertise-client-urls=http://example-a.example.ns.svc:2379"}
		if err := k.Known.Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		t.Chdir(dir)
		out, err := k.run(t, "download", "example", "--now", "--member", "example-a")
		got, _ := os.ReadFile(filepath.Join(dir, "example-20261123-120000.db"))
		if c.says == "" && (err != nil || !bytes.Equal(got, content) || !strings.Contains(out, "98 keys")) {
			t.Errorf("%s: %v, %d bytes, want %d\n%s", name, err, len(got), len(content), out)
		}
		if left, _ := os.ReadDir(dir); c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || len(left) > 0) {
			t.Errorf("%s: %v, %d files", name, err, len(left))
		}
	}
}
