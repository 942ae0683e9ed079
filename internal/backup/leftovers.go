package backup

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// sweepUploads aborts the unfinished uploads below a prefix for which stale returns true. If the store does not allow the
// operator to list them, a lifecycle rule of the bucket must do it.
func sweepUploads(ctx context.Context, store objstore.Store, prefix string, stale func(key string, started time.Time) bool) error {
	if _, err := snapshot.AbortUploads(ctx, store, prefix, stale); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
