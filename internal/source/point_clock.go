package source

import (
	"context"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// usualLag is how much later than its changes a store receives a segment if nothing is wrong: maxLag and the upload.
const usualLag = 2 * time.Minute

// lagOf returns how much later than its changes the store received the last segment of a choice. The changes have times of the clock of
// backup-operator, and the object has one of the clock of the store. It is negative if the store received it before. It is 0 if that is not known:
// a listing may omit the segment, and no restore fails for that.
func lagOf(ctx context.Context, store objstore.Store, c archive.Choice) time.Duration {
	if len(c.Links) == 0 {
		return 0
	}
	last := c.Links[len(c.Links)-1]
	for object, err := range store.List(ctx, last.Key) {
		if err != nil || object.Key != last.Key || object.ModTime.IsZero() {
			break
		}
		return object.ModTime.Sub(last.Header.To().At)
	}
	return 0
}
