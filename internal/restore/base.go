package restore

import (
	"cmp"
	"context"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// maxBases is how many snapshots are read one after the other until one is a base for a standby.
const maxBases = 3

// proveBase reads the newest snapshot with which a standby can begin. If that is damaged or was deleted, an earlier one may do, too.
func (s Spool) proveBase(ctx context.Context, asked Asked, limit *readLimit) (Found, error) {
	var unusable error
	var without []string
	for range maxBases {
		point, err := findBase(ctx, asked, without)
		if err != nil {
			return Found{}, cmp.Or(unusable, err)
		}
		found, err := s.readWhole(ctx, asked, point.Base, "it is the newest snapshot with which a standby can begin to follow the continuous archive", limit)
		if err == nil {
			found.Follow = followOf(asked, point)
			return found, nil
		}
		if !replaceable(err) {
			return Found{}, err
		}
		unusable, without = cmp.Or(unusable, err), append(without, point.Base.Key)
	}
	return Found{}, unusable
}

// findBase finds a snapshot. After that, no name and no header of another one is held: the store decides how long it is read.
func findBase(ctx context.Context, asked Asked, without []string) (source.Point, error) {
	ctx, held := objstore.Hold(ctx, asked.Namespace)
	defer held.Release()
	return source.FindNewest(ctx, asked.Source, asked.By, asked.Choice, without...)
}

// followOf returns which archive the standby follows. It names the cluster by what the snapshot says, and not by the spec, which may name several.
func followOf(asked Asked, point source.Point) *v1beta2.RestoreFollowStatus {
	from := point.Base
	from.Key = point.Series.Lives()
	return &v1beta2.RestoreFollowStatus{
		Source: from, Cluster: point.Series.Namespace + "/" + point.Series.Cluster,
		ClusterUID: bounded.Word(point.Manifest.Cluster.UID), ClusterID: bounded.Word(point.Manifest.Cluster.ID), OnlyClusterID: asked.Choice.ClusterID,
	}
}
