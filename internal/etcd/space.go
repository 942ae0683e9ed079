package etcd

import (
	"context"
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// DefaultQuota is the default of etcd's --quota-backend-bytes, the maximum size of a member's database.
const DefaultQuota = 2 << 30

// Compact discards the history before a revision. It returns before the members have done so. It is not an error if the
// history is compacted already.
func (c *Client) Compact(ctx context.Context, revision int64) error {
	_, err := c.client.Compact(ctx, revision)
	return c.changed("compact", err, rpctypes.ErrCompacted)
}

// Defragment makes the member rewrite its database without the free space in it. The member answers no requests
// meanwhile. If ctx ends, the member continues and Defragment returns nil: the result shows in the member's status.
func (c *Client) Defragment(ctx context.Context) error {
	_, err := c.maintenance().Defragment(ctx, &pb.DefragmentRequest{})
	if err != nil {
		err = clientv3.ContextError(ctx, err)
	}
	if errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded {
		return nil
	}
	return c.wrap("defragment", err)
}
