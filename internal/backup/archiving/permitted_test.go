package archiving

import (
	"context"
	"iter"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"

	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients/clientstest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// refusing is a member that refuses some of what an archiver reads. It returns revision 2 and no change.
type refusing struct {
	pb.UnimplementedKVServer
	pb.UnimplementedAuthServer
	pb.UnimplementedWatchServer
	head, auth, watch bool
}

func (r refusing) header() *pb.ResponseHeader { return &pb.ResponseHeader{ClusterId: 1, Revision: 2} }

func (r refusing) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	if r.head {
		return nil, rpctypes.ErrGRPCPermissionDenied
	}
	return &pb.RangeResponse{Header: r.header()}, nil
}

func (r refusing) AuthStatus(context.Context, *pb.AuthStatusRequest) (*pb.AuthStatusResponse, error) {
	if r.auth {
		return nil, rpctypes.ErrGRPCPermissionDenied
	}
	return &pb.AuthStatusResponse{Header: r.header(), AuthRevision: 1}, nil
}

func (r refusing) Watch(stream pb.Watch_WatchServer) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	created := &pb.WatchResponse{Header: r.header(), Created: true, Canceled: r.watch}
	if r.watch {
		created.CancelReason = rpctypes.ErrGRPCPermissionDenied.Error()
	}
	if err := stream.Send(created); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (r refusing) serve(t *testing.T) (url string) {
	t.Helper()
	server := grpc.NewServer()
	pb.RegisterKVServer(server, r)
	pb.RegisterAuthServer(server, r)
	pb.RegisterWatchServer(server, r)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return "http://" + listener.Addr().String()
}

// listings is a store that counts its listings.
type listings struct {
	objstore.Store
	count atomic.Int32
}

func (l *listings) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	l.count.Add(1)
	return l.Store.List(ctx, prefix)
}

// An archive may have a hundred thousand objects, and the archiver restarts every few seconds. Each start listed all of them, although the
// user of the operator lacked a permission.
func TestAnArchiverThatTheMembersRefuseDoesNotListTheArchive(t *testing.T) {
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]refusing{"the revision": {head: true}, "the auth revision": {auth: true}, "the watch": {watch: true}, "nothing": {}} {
		w := attempttest.NewWorld(t)
		store := &listings{Store: w.Store}
		w.Store = store
		w.Probe = func(context.Context, []string, ask.Access) []ask.Answer {
			m := clientstest.Member(r.serve(t), 2)
			m.Status.Version = "3.6.0"
			return []ask.Answer{m}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		a := &Archiver{turn: make(chan struct{}, 1), news: make(chan struct{}, 1), spec: *SpecOf(statetest.ArchivingState(t))}
		a.notify = func() {
			if a.look().Want != "" { // it has found that there is no archive
				cancel()
			}
		}
		err := (&runner{Clients: w.Clients, spool: w.Spool, metrics: metrics, places: limits.NewPlaces(w.Spool, 0)}).once(ctx, a)
		cancel()
		if permitted := !r.head && !r.auth && !r.watch; store.count.Load() > 0 != permitted || err == nil {
			t.Errorf("the members refuse %s: the archive is listed %d times, error %v", name, store.count.Load(), err)
		}
	}
}
