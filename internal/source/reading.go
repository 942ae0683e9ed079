package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// ofStore returns whether the store failed to return a manifest. Another attempt may succeed, so an older snapshot must not
// take the place of this one. A manifest that is damaged, deleted, archived or encrypted with a lost key will not come back.
func ofStore(err error) bool {
	if snapshot.OfSignature(err) {
		return false
	}
	for _, known := range []error{snapshot.ErrManifest, snapshot.ErrNewerFormat, fs.ErrNotExist, fs.ErrPermission} {
		if errors.Is(err, known) {
			return false
		}
	}
	return err != nil
}

// readAll reads manifests, each a second time if the store fails. It fails if the store does not return one of them.
func readAll(ctx context.Context, store objstore.Store, known catalog.Known, items []catalog.Item, by snapshot.Signers) error {
	unread, err := readEach(ctx, store, known, items, by)
	return cmp.Or(err, unread)
}

// readEach is readAll for a caller that can do without some manifests. unread says which one the store does not return.
func readEach(ctx context.Context, store objstore.Store, known catalog.Known, items []catalog.Item, by snapshot.Signers) (unread, err error) {
	for try := 1; ; try++ {
		if err := known.Read(ctx, store, items, by); err != nil {
			return nil, err
		}
		var failed error
		for _, item := range items {
			if err := known[item.Key].Err; ofStore(err) {
				failed = fmt.Errorf("read the manifest %s: %w", snapshot.ManifestKey(item.Key), err)
				if try == 1 {
					delete(known, item.Key)
				}
			}
		}
		if failed == nil || try == 2 {
			return failed, nil
		}
	}
}

// read reads a manifest. It tries a second time, because the newest snapshot must not be passed over for a short fault.
func read(ctx context.Context, store objstore.Store, item catalog.Item, by snapshot.Signers) (catalog.Reading, error) {
	for try := 1; ; try++ {
		known := catalog.Known{}
		err := known.Read(ctx, store, []catalog.Item{item}, by)
		reading := known[item.Key]
		if err != nil || reading.Err == nil || try == 2 {
			return reading, err
		}
	}
}
