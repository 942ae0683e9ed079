package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
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
	_, signers, err := t.signing(ctx, o)
	if err != nil {
		return Result{}, err
	}
	index, err := snapshot.Scan(ctx, store, series.Prefix())
	if err != nil {
		return Result{}, err
	}
	ahead, err := measureAhead(ctx, store, series, o.UID, t.now)
	if err != nil {
		return Result{}, err
	}
	var result Result
	t.tidy(ctx, o, stored{store: store, series: series, index: index, known: snapshot.Known{}, signers: signers, ahead: ahead}, "", &result)
	return result, nil
}

// measureAhead returns how far this clock is ahead of the store's. It writes a small object beside the series and deletes it
// again. A clock that is ahead would delete the whole history of keepWithin, so nothing is deleted if this fails. A bucket may
// keep every object for a time. So each object has a name of its own, and a later run deletes what this one may not.
func measureAhead(ctx context.Context, store objstore.Store, series snapshot.Series, uid types.UID, now func() time.Time) (*time.Duration, error) {
	const doing = "compare the clock with that of the store, before old snapshots are deleted: %w"
	prefix := series.Prefix() + "clock-" + string(uid)
	name := prefix + now().UTC().Format("-20060102T150405.000000000Z")
	if err := store.Put(ctx, name, objstore.NewMetadata([]byte("backup-operator compares its clock with that of the store.\n"))); err != nil {
		return nil, fmt.Errorf(doing, err)
	}
	ahead := aheadOf(ctx, store, name, now())
	err := deleteClocks(ctx, store, prefix)
	if err == nil && ahead == nil {
		err = fmt.Errorf("the store does not list the new object %s", name)
	}
	if err != nil {
		return nil, fmt.Errorf(doing, err)
	}
	return ahead, nil
}

// deleteClocks deletes the objects of measureAhead, also those of an operator that was killed.
func deleteClocks(ctx context.Context, store objstore.Store, prefix string) error {
	var names []string
	for object, err := range store.List(ctx, prefix) {
		if err != nil {
			return err
		}
		names = append(names, object.Key)
	}
	errs := objstore.Errors{Refusals: refusals}
	for _, name := range names {
		if !errs.Add(ctx, store.Delete(ctx, name)) {
			break
		}
	}
	if err := errs.Err(); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
