package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// readers is how many manifests are read at once.
const readers = 8

// Entry is one snapshot in a store.
type Entry struct {
	Key      string
	Manifest Manifest
}

// Listing is what lies under a prefix.
type Listing struct {
	// Snapshots are objects with their manifests, newest first.
	Snapshots []Entry
	// Unreadable are manifests that could not be read as one, by key, with the
	// reason: one of a newer version of the suite may be the newest snapshot.
	Unreadable map[string]error
	// Headless are snapshots whose object is gone: somebody was killed while
	// removing them.
	Headless []Entry
	// Uncommitted are objects named like a snapshot of a series, which have no
	// manifest: one is being written, or somebody was killed while writing it.
	Uncommitted []objstore.Object
}

// List reads what lies under a prefix, which is a string and not a directory: end
// it with a slash, as Series.Prefix does. An unreadable manifest is no error.
func List(ctx context.Context, store objstore.Store, prefix string) (Listing, error) {
	objects := map[string]objstore.Object{}
	for object, err := range store.List(ctx, prefix) {
		if err != nil {
			return Listing{}, fmt.Errorf("list snapshots: %w", err)
		}
		objects[object.Key] = object
	}
	listing := Listing{Unreadable: map[string]error{}}
	var keys []string
	for name, object := range objects {
		if key, ok := ofManifest(name); ok {
			keys = append(keys, key)
			continue
		}
		_, hasManifest := objects[ManifestKey(name)]
		if _, ours := ParseKey(name); ours && !hasManifest {
			listing.Uncommitted = append(listing.Uncommitted, object)
		}
	}
	if err := listing.read(ctx, store, keys, objects); err != nil {
		return Listing{}, fmt.Errorf("list snapshots: %w", err)
	}
	listing.sort()
	return listing, nil
}

// read sorts the manifests of the snapshots under keys into the listing.
func (l *Listing) read(ctx context.Context, store objstore.Store, keys []string, objects map[string]objstore.Object) error {
	manifests, errs := readManifests(ctx, store, keys)
	for i, key := range keys {
		object, exists := objects[key]
		if _, ours := ParseKey(key); !exists && !ours {
			continue // any other file in JSON
		}
		err := errs[i]
		if err == nil && exists && object.Size != manifests[i].Size {
			err = fmt.Errorf("%w: the object has %d bytes and not %d", ErrManifest, object.Size, manifests[i].Size)
		}
		switch entry := (Entry{key, manifests[i]}); {
		case errors.Is(err, ErrManifest), errors.Is(err, ErrNewerFormat):
			l.Unreadable[ManifestKey(key)] = err
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case err != nil:
			return err
		case exists:
			l.Snapshots = append(l.Snapshots, entry)
		default:
			l.Headless = append(l.Headless, entry)
		}
	}
	return nil
}

func readManifests(ctx context.Context, store objstore.Store, keys []string) ([]Manifest, []error) {
	manifests, errs := make([]Manifest, len(keys)), make([]error, len(keys))
	var group sync.WaitGroup
	for first := range min(readers, len(keys)) {
		group.Go(func() {
			for i := first; i < len(keys); i += readers {
				manifests[i], errs[i] = readManifest(ctx, store, keys[i])
			}
		})
	}
	group.Wait()
	return manifests, errs
}

func (l *Listing) sort() {
	newest := func(a, b Entry) int {
		return cmp.Or(b.Manifest.CreatedAt.Compare(a.Manifest.CreatedAt), cmp.Compare(b.Key, a.Key))
	}
	slices.SortFunc(l.Snapshots, newest)
	slices.SortFunc(l.Headless, newest)
	slices.SortFunc(l.Uncommitted, func(a, b objstore.Object) int { return cmp.Compare(a.Key, b.Key) })
}

// Newest is the snapshot that was taken last; false where there is none.
func (l Listing) Newest() (Entry, bool) {
	if len(l.Snapshots) == 0 {
		return Entry{}, false
	}
	return l.Snapshots[0], true
}
