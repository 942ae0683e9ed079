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

// readers is how many manifests are read concurrently.
const readers = 8

// Entry is one snapshot in a store.
type Entry struct {
	Key      string
	Manifest Manifest
}

// Listing is the content of a prefix.
type Listing struct {
	// Snapshots are objects with their manifests, newest first.
	Snapshots []Entry
	// Unreadable has the keys of invalid manifests and their errors. A newer version of the suite may have written them.
	Unreadable map[string]error
	// Headless are manifests whose object is missing: a process was killed while it deleted the snapshot.
	Headless []Entry
	// Uncommitted are objects without a manifest that are named like a snapshot of a series. Each of them is being
	// written, or its writer was killed.
	Uncommitted []objstore.Object
}

// List reads all manifests under a prefix. A prefix is a string and not a directory: end it with a slash, as
// Series.Prefix does. An unreadable manifest is not an error.
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

// read reads the manifests of the snapshots under keys and adds them to the listing.
func (l *Listing) read(ctx context.Context, store objstore.Store, keys []string, objects map[string]objstore.Object) error {
	manifests, errs := readManifests(ctx, store, keys)
	for i, key := range keys {
		object, exists := objects[key]
		if _, ours := ParseKey(key); !exists && !ours {
			continue // a foreign JSON file
		}
		err := errs[i]
		if err == nil && exists && object.Size != manifests[i].Size {
			err = fmt.Errorf("%w: it states another size than the object's: %d bytes, not %d", ErrManifest, manifests[i].Size, object.Size)
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

// Newest returns the snapshot that was taken last. It returns false if there is none.
func (l Listing) Newest() (Entry, bool) {
	if len(l.Snapshots) == 0 {
		return Entry{}, false
	}
	return l.Snapshots[0], true
}
