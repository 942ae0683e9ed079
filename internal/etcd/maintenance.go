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

// EnableDowngrade lowers the cluster's version, and with it the data of all members, to target, such as "3.5.0". The
// target must be one minor version below the version of all members. The members keep serving, and each writes a raft
// snapshot to its disk (etcd 3.6, ClusterVersionSet). It is not an error if a downgrade is in progress already; the
// members' status holds its target.
func (c Maintenance) EnableDowngrade(ctx context.Context, target string) error {
	if _, err := c.client.Downgrade(ctx, clientv3.DowngradeValidate, target); err != nil {
		return c.changed("validate downgrade to "+target, err, rpctypes.ErrDowngradeInProcess)
	}
	_, err := c.client.Downgrade(ctx, clientv3.DowngradeEnable, target)
	return c.changed("enable downgrade to "+target, err, rpctypes.ErrDowngradeInProcess)
}

// CancelDowngrade lets etcd raise the cluster's version again, to the lowest version among the members. It is not an
// error if no downgrade is in progress.
func (c Maintenance) CancelDowngrade(ctx context.Context) error {
	_, err := c.client.Downgrade(ctx, clientv3.DowngradeCancel, "")
	return c.changed("cancel downgrade", err, rpctypes.ErrNoInflightDowngrade)
}

// DefaultQuota is the default of etcd's --quota-backend-bytes, the maximum size of a member's database.
const DefaultQuota = 2 << 30

// Compact discards the history before a revision. It returns before the members have done so. It is not an error if the
// history is compacted already.
func (c KV) Compact(ctx context.Context, revision int64) error {
	_, err := c.client.Compact(ctx, revision)
	return c.changed("compact", err, rpctypes.ErrCompacted)
}

// Defragment makes the member rewrite its database without the free space in it. The member answers no requests
// meanwhile. If ctx ends, the member continues and Defragment returns nil: the result shows in the member's status.
func (c Maintenance) Defragment(ctx context.Context) error {
	_, err := c.maintenance().Defragment(ctx, &pb.DefragmentRequest{})
	if err != nil {
		err = clientv3.ContextError(ctx, err)
	}
	if errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded {
		return nil
	}
	return c.wrap("defragment", err)
}
