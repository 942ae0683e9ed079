package snapshot

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// AbortUploads deletes the parts of stale unfinished uploads under a prefix and returns how many it has aborted. It does
// nothing for stores that delete such parts on their own, and for uploads that were completed meanwhile.
func AbortUploads(ctx context.Context, store objstore.Store, prefix string, stale func(key string, started time.Time) bool) (aborted int, err error) {
	unfinished, ok := store.(objstore.Unfinished)
	if !ok {
		return 0, nil
	}
	var uploads []objstore.Upload
	for upload, err := range unfinished.Uploads(ctx, prefix) {
		if err != nil {
			return 0, fmt.Errorf("list unfinished uploads: %w", err)
		}
		if stale(upload.Key, upload.Started) {
			uploads = append(uploads, upload)
		}
	}
	for _, upload := range uploads {
		if err := unfinished.Abort(ctx, upload); err != nil {
			return aborted, fmt.Errorf("abort an unfinished upload: %w", err)
		}
		aborted++
	}
	return aborted, nil
}
