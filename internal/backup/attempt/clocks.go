package attempt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

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
	errs := objstore.Errors{Refusals: clients.MaxRefusals}
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

// aheadOf returns how far this clock is ahead of the store's, by an object that was just written. It returns nil if the store
// does not list the object with its time.
func aheadOf(ctx context.Context, store objstore.Store, name string, now time.Time) *time.Duration {
	for object, err := range store.List(ctx, name) {
		if err == nil && object.Key == name && !object.ModTime.IsZero() {
			return new(now.Sub(object.ModTime))
		}
		break
	}
	return nil
}
