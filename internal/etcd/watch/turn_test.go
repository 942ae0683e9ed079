package watch

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// stopping is a member that accepts requests. If hangs is true, it never answers, as one does that stops or has no leader.
type stopping struct {
	pb.UnimplementedKVServer
	pb.UnimplementedAuthServer
	hangs bool
	asked atomic.Int32
}

func (s *stopping) Range(ctx context.Context, _ *pb.RangeRequest) (*pb.RangeResponse, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return &pb.RangeResponse{Header: &pb.ResponseHeader{ClusterId: 1, Revision: 7}}, nil
}

func (s *stopping) AuthStatus(ctx context.Context, _ *pb.AuthStatusRequest) (*pb.AuthStatusResponse, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return &pb.AuthStatusResponse{Header: &pb.ResponseHeader{ClusterId: 1, Revision: 7}, AuthRevision: 3}, nil
}

func (s *stopping) wait(ctx context.Context) error {
	if s.asked.Add(1); s.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (s *stopping) serve(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterKVServer(server, s)
	pb.RegisterAuthServer(server, s)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return "http://" + listener.Addr().String()
}

// While members restarted, the archive was up to ten seconds further behind than maxLag, because the archiver asked a member that stopped for the
// state of authentication, and waited for its answer.
func TestAMemberThatNeverAnswersDelaysNoRequestForLong(t *testing.T) {
	hung, good := &stopping{hangs: true}, &stopping{}
	c, err := Open(t.Context(), Options{Endpoints: []string{hung.serve(t), good.serve(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range 4 {
		began := time.Now()
		if head, err := c.Head(t.Context()); err != nil || head.Revision != 7 {
			t.Fatalf("request %d: revision %d, error %v", i, head.Revision, err)
		}
		if state, err := c.Auth(t.Context()); err != nil || state.Revision != 3 {
			t.Fatalf("request %d: auth revision %d, error %v", i, state.Revision, err)
		}
		if took := time.Since(began); took > 2*(firstTry+secondTry)+time.Second {
			t.Errorf("request %d took %s", i, took)
		}
	}
	if hung.asked.Load() == 0 {
		t.Error("no request was sent to the member that never answers")
	}
}
