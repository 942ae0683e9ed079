package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// sweepUploads aborts the uploads below a prefix that killed operators left, where the store keeps such: those that
// abandoned says yes to.
func sweepUploads(ctx context.Context, store objstore.Store, prefix string, abandoned func(key string, started time.Time) bool) error {
	unfinished, ok := store.(objstore.Unfinished)
	if !ok {
		return nil
	}
	for upload, err := range unfinished.Uploads(ctx, prefix) {
		if errors.Is(err, fs.ErrPermission) {
			return nil // who may not look leaves it to a lifecycle rule of the bucket
		}
		if err != nil {
			return fmt.Errorf("look for unfinished uploads: %w", err)
		}
		if !abandoned(upload.Key, upload.Started) {
			continue
		}
		if err := unfinished.Abort(ctx, upload); err != nil {
			return fmt.Errorf("abort unfinished upload of %s: %w", upload.Key, err)
		}
	}
	return nil
}
