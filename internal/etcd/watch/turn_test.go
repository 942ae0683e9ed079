package watch

import (
	"context"
	"errors"
	"math"
	"net"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
)

// stopping is a member that accepts requests, and never answers the first ones, as one that stops, or whose leader is lost. Others fail at once, or
// are answered after a while.
type stopping struct {
	pb.UnimplementedKVServer
	pb.UnimplementedAuthServer
	lost, failed int32
	after        time.Duration
	asked        atomic.Int32
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
	n := s.asked.Add(1)
	if n <= s.lost {
		<-ctx.Done()
		return ctx.Err()
	}
	if n <= s.lost+s.failed {
		return status.Error(codes.Unknown, "raft proposal dropped")
	}
	timer := time.NewTimer(s.after)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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
// state of authentication, and waited for its answer. An answer that takes longer than nextTry must count all the same: etcd with distant members
// needs that long for each.
func TestAMemberThatDoesNotAnswerDelaysNoRequestForLong(t *testing.T) {
	for name, test := range map[string]struct {
		members []*stopping
		limit   time.Duration
	}{
		"one of two never answers":        {[]*stopping{{lost: math.MaxInt32}, {}}, 2*nextTry + time.Second},
		"a request is lost with a leader": {[]*stopping{{lost: 1}}, nextTry + time.Second},
		"two requests are lost":           {[]*stopping{{lost: 2}}, 2*nextTry + time.Second},
		"a request fails at once":         {[]*stopping{{failed: 2}}, time.Second},
		"each answer takes 1.2 s":         {[]*stopping{{after: 1200 * time.Millisecond}}, 2200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var endpoints []string
			for _, m := range test.members {
				endpoints = append(endpoints, m.serve(t))
			}
			c, err := Open(t.Context(), Options{Endpoints: endpoints})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for i := range 3 {
				began := time.Now()
				state, err := c.Auth(t.Context(), 1)
				if took := time.Since(began); err != nil || state.Revision != 3 || took > test.limit {
					t.Fatalf("request %d: auth revision %d after %s, error %v", i, state.Revision, took, err)
				}
			}
		})
	}
}

// Behind the address of a load balancer, another cluster took the place of the one that was archived. The last segment had the users of the new one, so that
// nothing of it could be restored.
func TestTheStateOfAuthenticationOfAnotherClusterIsRefused(t *testing.T) {
	c, err := Open(t.Context(), Options{Endpoints: []string{(&stopping{}).serve(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Auth(t.Context(), 2); !errors.Is(err, archiver.ErrOtherCluster) {
		t.Errorf("the answer of cluster 1 to a question about cluster 2: %v", err)
	}
}
