package restore

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// memberOf is a member of the etcd cluster with that ID, which has no key.
type memberOf struct {
	pb.UnimplementedMaintenanceServer
	pb.UnimplementedKVServer
	cluster uint64
	written atomic.Int64
}

func (m *memberOf) header() *pb.ResponseHeader {
	return &pb.ResponseHeader{ClusterId: m.cluster, MemberId: 1, Revision: 7}
}

func (m *memberOf) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Header: m.header(), Version: "3.6.16", DbSize: 1 << 20, Leader: 1}, nil
}

func (m *memberOf) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	return &pb.RangeResponse{Header: m.header()}, nil
}

func (m *memberOf) Txn(_ context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	m.written.Add(int64(len(r.Success)))
	return &pb.TxnResponse{Header: m.header(), Succeeded: true}, nil
}

func (m *memberOf) serve(t *testing.T) string { t.Helper(); return serveMember(t, m) }

// serveMember returns the address of a member.
func serveMember(t *testing.T, m interface {
	pb.MaintenanceServer
	pb.KVServer
}) string {
	t.Helper()
	server := grpc.NewServer()
	pb.RegisterMaintenanceServer(server, m)
	pb.RegisterKVServer(server, m)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// The name of a member leads to a member of the tenant when the operator asks it for the ID of its cluster, and to that of another namespace when the
// operator connects again to write: the tenant answers for the DNS domain in spec.pod.ClusterDomain, or writes EndpointSlices. Each answer of etcd has
// the ID of its cluster, and nobody looks at it.
func TestKeysAreWrittenOnlyToTheClusterThatWasAsked(t *testing.T) {
	own, victim := &memberOf{cluster: 0xaa}, &memberOf{cluster: 0xbb}
	addresses := []string{own.serve(t), victim.serve(t)}
	name, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer name.Close()
	go func() {
		for n := 0; ; n++ {
			client, err := name.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", addresses[min(n, 1)]) // the name has another address after the first connection
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(server, client) }()
			go func() { _, _ = io.Copy(client, server) }()
		}
	}()
	s, err := OpenSpool(t.TempDir(), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "snapshot")
	if err := os.WriteFile(file, dbfiletest.New(t, 1).Put(10, 10).Snapshot(), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	of := v1beta2.Snapshot{SHA256: "same"}
	found, err := s.keys(ctx, Asked{Namespace: "tenant", Keys: &state.KeysOrder{
		Prefixes: []string{"key"}, Write: true, Revision: 7, Snapshot: of,
		Cluster: state.SafetyOrder{URLs: []string{"http://" + name.Addr().String()}, ClusterID: "00000000000000aa"},
	}}, source.Proven{File: file, Snapshot: of})
	t.Logf("%+v, %v", found, err)
	if n := victim.written.Load(); n > 0 || err == nil {
		t.Errorf("%d keys were written into the cluster bb of another namespace, and the restore is into aa", n)
	}
}
