package etcd

import (
	"context"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// EnableDowngrade lowers the cluster's version, and with it the data of all members, to target, such as "3.5.0". The
// target must be one minor version below the version of all members. The members keep serving, and each writes a raft
// snapshot to its disk (etcd 3.6, ClusterVersionSet). It is not an error if a downgrade is in progress already; the
// members' status holds its target.
func (c *Client) EnableDowngrade(ctx context.Context, target string) error {
	if _, err := c.client.Downgrade(ctx, clientv3.DowngradeValidate, target); err != nil {
		return c.changed("validate downgrade to "+target, err, rpctypes.ErrDowngradeInProcess)
	}
	_, err := c.client.Downgrade(ctx, clientv3.DowngradeEnable, target)
	return c.changed("enable downgrade to "+target, err, rpctypes.ErrDowngradeInProcess)
}

// CancelDowngrade lets etcd raise the cluster's version again, to the lowest version among the members. It is not an
// error if no downgrade is in progress.
func (c *Client) CancelDowngrade(ctx context.Context) error {
	_, err := c.client.Downgrade(ctx, clientv3.DowngradeCancel, "")
	return c.changed("cancel downgrade", err, rpctypes.ErrNoInflightDowngrade)
}
