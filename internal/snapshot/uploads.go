package snapshot

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// AbortUploads removes the parts of unfinished uploads below a prefix that are stale
// by key and start, where the store keeps such for ever, and says how many. One that
// was completed meanwhile is left as it is.
func AbortUploads(ctx context.Context, store objstore.Store, prefix string, stale func(key string, started time.Time) bool) (aborted int, err error) {
	unfinished, ok := store.(objstore.Unfinished)
	if !ok {
		return 0, nil
	}
	var uploads []objstore.Upload
	for upload, err := range unfinished.Uploads(ctx, prefix) {
		if err != nil {
			return 0, fmt.Errorf("look for unfinished uploads: %w", err)
		}
		if stale(upload.Key, upload.Started) {
			uploads = append(uploads, upload)
		}
	}
	for _, upload := range uploads {
		if err := unfinished.Abort(ctx, upload); err != nil {
			return aborted, fmt.Errorf("remove an unfinished upload: %w", err)
		}
		aborted++
	}
	return aborted, nil
}
