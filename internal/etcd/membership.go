package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// ErrNotYet is in the error chain if etcd refuses a change for now, so that the caller should retry later. For example a
// learner has not caught up, or the connections between members are younger than etcd's health interval.
var ErrNotYet = errors.New("etcd is not ready for this change yet")

// AddLearner adds a non-voting member with this peer URL. It does nothing if a member has the URL already.
func (c Membership) AddLearner(ctx context.Context, peerURL string) error {
	_, err := c.client.MemberAddAsLearner(ctx, []string{peerURL})
	return c.changed("add learner "+peerURL, err, rpctypes.ErrPeerURLExist)
}

// AddVoter adds a voting member with this peer URL. It is for etcd before 3.4, which has no learners.
func (c Membership) AddVoter(ctx context.Context, peerURL string) error {
	_, err := c.client.MemberAdd(ctx, []string{peerURL})
	return c.changed("add member "+peerURL, err, rpctypes.ErrPeerURLExist)
}

// ErrUnconnected is in the error chain if the member that was asked for a change has no connection to all voters, by its own account. Another member
// may have them. etcd takes a peer for unconnected until the next connection if an early request to it fails after the streams are open.
var ErrUnconnected error = rpctypes.ErrUnhealthy

// Promote makes a learner a voter. The error is ErrNotYet while the learner has not caught up.
func (c Membership) Promote(ctx context.Context, id ID) error {
	_, err := c.client.MemberPromote(ctx, uint64(id))
	return c.changed("promote learner "+id.String(), err, rpctypes.ErrMemberNotLearner)
}

// Remove removes a member from the membership. It is not an error if the member is removed already.
func (c Membership) Remove(ctx context.Context, id ID) error {
	_, err := c.client.MemberRemove(ctx, uint64(id))
	return c.changed("remove member "+id.String(), err, rpctypes.ErrMemberNotFound)
}

// MoveLeader transfers leadership to a member. The client must be connected to the leader.
func (c Membership) MoveLeader(ctx context.Context, to ID) error {
	_, err := c.client.MoveLeader(ctx, uint64(to))
	return c.changed("move leader to "+to.String(), err, nil)
}

// changed classifies the answer to a change. done is etcd's error for a change that was made before.
func (c *connection) changed(operation string, err, done error) error {
	switch {
	case err == nil, done != nil && errors.Is(err, done):
		return nil
	case errors.Is(err, rpctypes.ErrMemberLearnerNotReady), errors.Is(err, rpctypes.ErrUnhealthy),
		errors.Is(err, rpctypes.ErrMemberNotEnoughStarted), errors.Is(err, rpctypes.ErrTooManyLearners),
		errors.Is(err, rpctypes.ErrNotLeader), errors.Is(err, rpctypes.ErrNoLeader),
		errors.Is(err, rpctypes.ErrClusterVersionUnavailable):
		return c.wrap(operation, errors.Join(ErrNotYet, err))
	}
	return c.wrap(operation, err)
}

// ID is the ID of a cluster or a member. etcd prints it in hexadecimal.
type ID uint64

// String returns the ID as 16 hex digits.
func (id ID) String() string { return fmt.Sprintf("%016x", uint64(id)) }
