package backup

import (
	"context"
	"fmt"
	"strconv"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// pruneSuspended deletes the snapshots of a suspended series that retention does not keep. It asks no member: the series is
// that of the newest snapshot.
func (t *job) pruneSuspended(ctx context.Context, o jobSpec, progress *jobProgress) (Result, error) {
	progress.stage("deleting old snapshots")
	id, err := strconv.ParseUint(o.Newest.ClusterID, 16, 64)
	if err != nil {
		return Result{}, fmt.Errorf("the cluster ID of the newest snapshot is %q: %w", o.Newest.ClusterID, err)
	}
	store, err := t.store(ctx, o)
	if err != nil {
		return Result{}, err
	}
	series := o.seriesOf(etcd.ID(id))
	index, err := snapshot.Scan(ctx, store, series.Prefix())
	if err != nil {
		return Result{}, err
	}
	var result Result
	t.tidy(ctx, o, stored{store: store, series: series, index: index, known: snapshot.Known{}}, "", &result)
	return result, nil
}
