package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// sweepUploads aborts the unfinished uploads below a prefix for which stale returns true. If the store does not allow the
// operator to list them, a lifecycle rule of the bucket must do it.
func sweepUploads(ctx context.Context, store objstore.Store, prefix string, stale func(key string, started time.Time) bool) error {
	if _, err := catalog.AbortUploads(ctx, store, prefix, stale); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// LeftoverAge is the minimum age of a leftover, so that an upload in progress is never taken for one.
const LeftoverAge = 24 * time.Hour

// OrphanAge is the same if the EtcdBackup is deleted, because no later attempt can do it. The manifest follows its object
// within seconds. It is below plan.PurgeLimit, so that the purge can wait for it.
const OrphanAge = 5 * time.Minute

// sweep deletes what killed operators of this EtcdBackup left before one time, and unfinished uploads from before the other. It
// looks at all incarnations of the series' cluster. Snapshots without a manifest are deleted only with the EtcdBackup. It returns what it keeps.
func sweep(ctx context.Context, store objstore.Store, series snapshot.Series, mark string, before, uploadsBefore time.Time, deleted bool) (left catalog.Leftovers, err error) {
	uploads := sweepUploads(ctx, store, series.Lives(), func(key string, started time.Time) bool {
		_, ours := snapshot.ParseKey(key)
		return ours && started.Before(uploadsBefore)
	})
	left, unread := catalog.FindLeftovers(ctx, store, series, mark, before)
	if deleted {
		left.DeleteAll()
	}
	deletions := objstore.Each(ctx, left.Delete, func(name string) error {
		if err := store.Delete(ctx, name); err != nil {
			return fmt.Errorf("delete object without manifest: %w", err)
		}
		return nil
	})
	return left, cmp.Or(deletions.Err(), unread, uploads)
}
