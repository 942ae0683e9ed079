package backup

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// sweepUploads aborts the uploads below a prefix that killed operators left: those that stale says yes to. Who may
// not look for them leaves them to a lifecycle rule of the bucket.
func sweepUploads(ctx context.Context, store objstore.Store, prefix string, stale func(key string, started time.Time) bool) error {
	if _, err := snapshot.AbortUploads(ctx, store, prefix, stale); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
