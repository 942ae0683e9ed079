package etcd

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// ErrNotYet is in the chain when etcd refuses a change for now: a learner that has not caught up, or members
// whose connections are younger than its health interval. Trying again later is right.
var ErrNotYet = errors.New("etcd is not ready for this change yet")

// AddLearner adds a non-voting member that will serve peers at peerURL. It is idempotent: a member with that
// peer URL is left as it is.
func (c *Client) AddLearner(ctx context.Context, peerURL string) error {
	_, err := c.client.MemberAddAsLearner(ctx, []string{peerURL})
	return c.changed("add learner "+peerURL, err, rpctypes.ErrPeerURLExist)
}

// AddVoter adds a voting member, for etcd older than 3.4, which has no learners.
func (c *Client) AddVoter(ctx context.Context, peerURL string) error {
	_, err := c.client.MemberAdd(ctx, []string{peerURL})
	return c.changed("add member "+peerURL, err, rpctypes.ErrPeerURLExist)
}

// Promote makes a learner a voter. ErrNotYet while it has not caught up.
func (c *Client) Promote(ctx context.Context, id ID) error {
	_, err := c.client.MemberPromote(ctx, uint64(id))
	return c.changed("promote learner "+id.String(), err, rpctypes.ErrMemberNotLearner)
}

// Remove takes a member out of the membership. A member that is not in it is no error.
func (c *Client) Remove(ctx context.Context, id ID) error {
	_, err := c.client.MemberRemove(ctx, uint64(id))
	return c.changed("remove member "+id.String(), err, rpctypes.ErrMemberNotFound)
}

// MoveLeader hands leadership to a member; it must be asked of the leader itself.
func (c *Client) MoveLeader(ctx context.Context, to ID) error {
	_, err := c.client.MoveLeader(ctx, uint64(to))
	return c.changed("move leader to "+to.String(), err, nil)
}

// changed maps the answer to a change: done says that it was made before.
func (c *Client) changed(act string, err, done error) error {
	switch {
	case err == nil, done != nil && errors.Is(err, done):
		return nil
	case errors.Is(err, rpctypes.ErrMemberLearnerNotReady), errors.Is(err, rpctypes.ErrUnhealthy),
		errors.Is(err, rpctypes.ErrMemberNotEnoughStarted), errors.Is(err, rpctypes.ErrTooManyLearners),
		errors.Is(err, rpctypes.ErrNotLeader), errors.Is(err, rpctypes.ErrNoLeader),
		errors.Is(err, rpctypes.ErrClusterVersionUnavailable):
		return c.wrap(act, errors.Join(ErrNotYet, err))
	}
	return c.wrap(act, err)
}
