package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

type (
	kvServer          = etcdserverpb.UnimplementedKVServer
	clusterServer     = etcdserverpb.UnimplementedClusterServer
	maintenanceServer = etcdserverpb.UnimplementedMaintenanceServer
)

// etcdServer answers for all members of a fleet. The address that a client dialled names the member.
type etcdServer struct {
	kvServer
	clusterServer
	maintenanceServer
	fleet *Fleet
}

const (
	revision = 100
	dbSize   = 1 << 20
)

func (s *etcdServer) member(ctx context.Context) (*member, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil, status.Error(codes.Internal, "the connection has no address")
	}
	m := s.fleet.at(p.LocalAddr)
	if m == nil {
		return nil, status.Error(codes.Unavailable, "no member has the address")
	}
	return m, silence(ctx, m.silent.Load())
}

// silence waits until the client gives up.
func silence(ctx context.Context, silent bool) error {
	if !silent {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// serving is member for requests that need a quorum.
func (s *etcdServer) serving(ctx context.Context) (*member, error) {
	m, err := s.member(ctx)
	if err != nil {
		return nil, err
	}
	return m, silence(ctx, m.group.leader() == "")
}

func (m *member) header() *etcdserverpb.ResponseHeader {
	return &etcdserverpb.ResponseHeader{ClusterId: m.group.id, MemberId: hash(m.name), Revision: revision, RaftTerm: 2}
}

// Status implements the Maintenance service.
func (s *etcdServer) Status(ctx context.Context, _ *etcdserverpb.StatusRequest) (*etcdserverpb.StatusResponse, error) {
	m, err := s.member(ctx)
	if err != nil {
		return nil, err
	}
	m.group.asked()
	leader := uint64(0)
	if name := m.group.leader(); name != "" {
		leader = hash(name)
	}
	m.group.mu.Lock()
	defer m.group.mu.Unlock()
	e := m.group.entries[m.name]
	return &etcdserverpb.StatusResponse{
		Header: m.header(), Version: m.version, DbSize: dbSize, DbSizeInUse: dbSize, DbSizeQuota: 2 << 30, Leader: leader,
		RaftIndex: revision, RaftTerm: 2, RaftAppliedIndex: revision, StorageVersion: "3.6.0", IsLearner: e != nil && e.learner,
		DowngradeInfo: &etcdserverpb.DowngradeInfo{},
	}, nil
}

// HashKV implements the Maintenance service: all members hold the same data.
func (s *etcdServer) HashKV(ctx context.Context, _ *etcdserverpb.HashKVRequest) (*etcdserverpb.HashKVResponse, error) {
	m, err := s.member(ctx)
	if err != nil {
		return nil, err
	}
	return &etcdserverpb.HashKVResponse{Header: m.header(), Hash: 1, HashRevision: revision}, nil
}

// Alarm implements the Maintenance service: no alarm is on.
func (s *etcdServer) Alarm(ctx context.Context, _ *etcdserverpb.AlarmRequest) (*etcdserverpb.AlarmResponse, error) {
	m, err := s.serving(ctx)
	if err != nil {
		return nil, err
	}
	return &etcdserverpb.AlarmResponse{Header: m.header()}, nil
}

// MoveLeader implements the Maintenance service. The leader is always the first by name.
func (s *etcdServer) MoveLeader(ctx context.Context, _ *etcdserverpb.MoveLeaderRequest) (*etcdserverpb.MoveLeaderResponse, error) {
	m, err := s.serving(ctx)
	if err != nil {
		return nil, err
	}
	return &etcdserverpb.MoveLeaderResponse{Header: m.header()}, nil
}

// Range implements the KV service: the cluster has no keys.
func (s *etcdServer) Range(ctx context.Context, _ *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	m, err := s.serving(ctx)
	if err != nil {
		return nil, err
	}
	return &etcdserverpb.RangeResponse{Header: m.header()}, nil
}

// MemberList implements the Cluster service.
func (s *etcdServer) MemberList(ctx context.Context, _ *etcdserverpb.MemberListRequest) (*etcdserverpb.MemberListResponse, error) {
	m, err := s.serving(ctx)
	if err != nil {
		return nil, err
	}
	return &etcdserverpb.MemberListResponse{Header: m.header(), Members: m.group.list(s.fleet.scheme())}, nil
}

func (g *group) list(scheme string) []*etcdserverpb.Member {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []*etcdserverpb.Member
	for name, e := range g.entries {
		host := fmt.Sprintf("%s://%s.%s.%s.svc", scheme, name, g.cluster, g.namespace)
		member := &etcdserverpb.Member{ID: e.id, PeerURLs: []string{fmt.Sprintf("%s:%d", host, v1beta2.PeerPort)}, IsLearner: e.learner}
		if e.started {
			member.Name, member.ClientURLs = name, []string{fmt.Sprintf("%s:%d", host, v1beta2.ClientPort)}
		}
		list = append(list, member)
	}
	slices.SortFunc(list, func(a, b *etcdserverpb.Member) int { return strings.Compare(a.PeerURLs[0], b.PeerURLs[0]) })
	return list
}

// MemberAdd implements the Cluster service.
func (s *etcdServer) MemberAdd(ctx context.Context, request *etcdserverpb.MemberAddRequest) (*etcdserverpb.MemberAddResponse, error) {
	m, err := s.serving(ctx)
	if err != nil {
		return nil, err
	}
	_, host, _ := strings.Cut(request.PeerURLs[0], "://")
	name, _, _ := strings.Cut(host, ".")
	m.group.mu.Lock()
	m.group.entries[name] = &entry{id: hash(name), learner: request.IsLearner}
	m.group.mu.Unlock()
	return &etcdserverpb.MemberAddResponse{Header: m.header(), Members: m.group.list(s.fleet.scheme())}, nil
}

// MemberRemove implements the Cluster service.
func (s *etcdServer) MemberRemove(ctx context.Context, request *etcdserverpb.MemberRemoveRequest) (*etcdserverpb.MemberRemoveResponse, error) {
	m, err := s.serving(ctx)
	if err != nil {
		return nil, err
	}
	m.group.mu.Lock()
	for name, e := range m.group.entries {
		if e.id == request.ID {
			delete(m.group.entries, name)
		}
	}
	m.group.mu.Unlock()
	return &etcdserverpb.MemberRemoveResponse{Header: m.header(), Members: m.group.list(s.fleet.scheme())}, nil
}

// MemberPromote implements the Cluster service. A learner has always caught up.
func (s *etcdServer) MemberPromote(ctx context.Context, request *etcdserverpb.MemberPromoteRequest) (*etcdserverpb.MemberPromoteResponse, error) {
	m, err := s.serving(ctx)
	if err != nil {
		return nil, err
	}
	m.group.mu.Lock()
	for _, e := range m.group.entries {
		if e.id == request.ID {
			e.learner = false
		}
	}
	m.group.mu.Unlock()
	return &etcdserverpb.MemberPromoteResponse{Header: m.header(), Members: m.group.list(s.fleet.scheme())}, nil
}
