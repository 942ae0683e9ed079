package etcd

import (
	"context"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// EnableDowngrade brings the cluster's version, and with it the data of every member, down to a minor version, such
// as "3.5.0": one below the one that all members run. The members go on serving. Each takes a raft snapshot on disk
// when it applies that (etcd 3.6, ClusterVersionSet). A downgrade that is under way already is no error; the status
// of the members says to what.
func (c *Client) EnableDowngrade(ctx context.Context, target string) error {
	if _, err := c.client.Downgrade(ctx, clientv3.DowngradeValidate, target); err != nil {
		return c.changed("validate the downgrade to "+target, err, rpctypes.ErrDowngradeInProcess)
	}
	_, err := c.client.Downgrade(ctx, clientv3.DowngradeEnable, target)
	return c.changed("enable the downgrade to "+target, err, rpctypes.ErrDowngradeInProcess)
}

// CancelDowngrade lets the cluster's version go back to the lowest that a member runs. None under way is no error.
func (c *Client) CancelDowngrade(ctx context.Context) error {
	_, err := c.client.Downgrade(ctx, clientv3.DowngradeCancel, "")
	return c.changed("cancel the downgrade", err, rpctypes.ErrNoInflightDowngrade)
}
