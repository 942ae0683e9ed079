package datadir

import (
	"context"
	"encoding/json"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/etcdserver/apply"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// apply applies an entry as a member does. What a member refuses is refused here for the same reason, and changes nothing.
func (s *store) apply(ctx context.Context, e *raftpb.Entry) error {
	switch e.GetType() {
	case raftpb.EntryNormal:
		return s.request(ctx, e.Data)
	case raftpb.EntryConfChange:
		return s.configuration(e.Data)
	}
	return fmt.Errorf("%w: it is of the type %s, which etcd does not write", ErrRefused, e.GetType())
}

func (s *store) request(ctx context.Context, data []byte) error {
	if len(data) == 0 || ofVersion2(data) { // a new leader writes an empty entry
		return nil
	}
	var r pb.InternalRaftRequest
	if err := proto.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("%w: its request cannot be read: %w", ErrRefused, err)
	}
	if s.changesNothing(&r) {
		return nil
	}
	result := s.applier.Apply(&apply.InternalRaftRequestWrapper{InternalRaftRequest: &r, SkipRangeExecution: r.Txn != nil}, membership.ApplyBoth)
	if result == nil || result.Physc == nil {
		return nil
	}
	return wait(ctx, result.Physc)
}

// ofVersion2 reports whether a request is for the store of etcd 2, as members up to 3.5 write them for their own attributes. The number 2 is that of
// the method in such a request, or of such a request in another one.
func ofVersion2(data []byte) bool {
	const field = 2
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 || number == field {
			return n >= 0
		}
		data = data[n:]
		if n = protowire.ConsumeFieldValue(number, kind, data); n < 0 {
			return false
		}
		data = data[n:]
	}
	return false
}

// changesNothing reports whether a request changes nothing in a database. Members up to 3.5 do not have each member in their database.
func (s *store) changesNothing(r *pb.InternalRaftRequest) bool {
	switch {
	case r.Range != nil, r.Authenticate != nil, r.AuthStatus != nil, r.AuthUserGet != nil, r.AuthUserList != nil, r.AuthRoleGet != nil, r.AuthRoleList != nil:
		return true
	case r.ClusterMemberAttrSet != nil:
		return s.cluster.Member(types.ID(r.ClusterMemberAttrSet.Member_ID)) == nil
	}
	return false
}

// writesKeys reports whether an entry is a request that may write or delete keys.
func writesKeys(e *raftpb.Entry) bool {
	var r pb.InternalRaftRequest
	if e.GetType() != raftpb.EntryNormal || len(e.Data) == 0 || ofVersion2(e.Data) || proto.Unmarshal(e.Data, &r) != nil {
		return false
	}
	return r.Put != nil || r.DeleteRange != nil || r.Txn != nil || r.LeaseRevoke != nil
}

// configuration applies a change of the members.
func (s *store) configuration(data []byte) error {
	unreadable := func(err error) error {
		return fmt.Errorf("%w: its change of the members cannot be read: %w", ErrRefused, err)
	}
	var change raftpb.ConfChange
	if err := proto.Unmarshal(data, &change); err != nil {
		return unreadable(err)
	}
	if err := s.cluster.ValidateConfigurationChange(&change, membership.ApplyBoth); err != nil {
		return nil //nolint:nilerr // a member ignores such a change
	}
	id := types.ID(change.GetNodeId())
	switch change.GetType() {
	case raftpb.ConfChangeAddNode, raftpb.ConfChangeAddLearnerNode:
		var added membership.ConfigChangeContext
		if err := json.Unmarshal(change.Context, &added); err != nil {
			return unreadable(err)
		}
		if added.IsPromote {
			s.cluster.PromoteMember(id, membership.ApplyBoth)
			return nil
		}
		added.ID = id
		s.cluster.AddMember(&added.Member, membership.ApplyBoth)
	case raftpb.ConfChangeRemoveNode:
		s.cluster.RemoveMember(id, membership.ApplyBoth)
	case raftpb.ConfChangeUpdateNode:
		var updated membership.Member
		if err := json.Unmarshal(change.Context, &updated); err != nil {
			return unreadable(err)
		}
		s.cluster.UpdateRaftAttributes(id, updated.RaftAttributes, membership.ApplyBoth)
	}
	return nil
}
