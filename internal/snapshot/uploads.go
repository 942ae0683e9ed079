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
	var errs objstore.Errors
	uploads := objstore.Matching(unfinished.Uploads(objstore.Unheld(ctx), prefix), func(u objstore.Upload) bool { return stale(u.Key, u.Started) })
	listed := objstore.EachListed(ctx, 1, uploads, &errs, func(upload objstore.Upload) error {
		if err := unfinished.Abort(ctx, upload); err != nil {
			return fmt.Errorf("abort an unfinished upload: %w", err)
		}
		aborted++
		return nil
	})
	if err := errs.Err(); err != nil {
		return aborted, err
	}
	if listed != nil {
		return aborted, fmt.Errorf("list unfinished uploads: %w", listed)
	}
	return aborted, nil
}
