package etcd

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// DefaultQuota in bytes of a member's database where nothing is said (etcd's --quota-backend-bytes).
const DefaultQuota = 2 << 30

// Compact forgets what was before a revision. The members do so by and by, after it has come back. What was forgotten
// before is no error.
func (c *Client) Compact(ctx context.Context, revision int64) error {
	_, err := c.client.Compact(ctx, revision)
	return c.changed("compact", err, rpctypes.ErrCompacted)
}

// Defragment has the member write its database anew, without the free space in it. The member answers nobody
// meanwhile. It goes on when ctx ends, which is no error: how it ended then shows in the member's status.
func (c *Client) Defragment(ctx context.Context) error {
	_, err := c.client.Defragment(ctx, c.endpoint)
	if errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded {
		return nil
	}
	return c.wrap("defragment", err)
}
