package catalog

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// Entry is one snapshot in a store.
type Entry struct {
	Key      string
	Manifest snapshot.Manifest
	Verdict  snapshot.Result
}

// Listing is the content of a prefix.
type Listing struct {
	// Snapshots are objects with their manifests, newest first.
	Snapshots []Entry
	// Unreadable has the keys of manifests that cannot be read, and their errors.
	Unreadable map[string]error
	// Headless are manifests whose object is missing: a process was killed while it deleted the snapshot.
	Headless []Entry
	// Uncommitted are objects without a manifest that are named like a snapshot of a series. Each of them is being
	// written, or its writer was killed.
	Uncommitted []objstore.Object

	index Index
}

// List reads all manifests under a prefix: one request for each. Scan reads none. An unreadable manifest is not an
// error, unless the store returns none at all.
func List(ctx context.Context, store objstore.Store, prefix string) (Listing, error) {
	index, err := Scan(ctx, store, prefix)
	if err != nil {
		return Listing{}, err
	}
	items := make([]Item, len(index.manifests))
	for i, key := range index.manifests {
		object, listed := index.objects[key]
		items[i] = Item{Key: key, Size: object.Size, Listed: listed}
	}
	known := Known{}
	if err := known.Read(ctx, store, items, snapshot.Anyone); err != nil {
		return Listing{}, fmt.Errorf("list snapshots: %w", err)
	}
	listing := Listing{Unreadable: map[string]error{}, Uncommitted: index.Uncommitted, index: index}
	var broken error
	for _, item := range items {
		broken = cmp.Or(broken, listing.add(item, known[item.Key]))
	}
	if broken != nil && len(listing.Snapshots)+len(listing.Headless) == 0 {
		return Listing{}, fmt.Errorf("list snapshots: %w", broken)
	}
	listing.sort()
	return listing, nil
}

// ListObject is List for one object. It reads no manifest of another object whose key begins in the same way.
func ListObject(ctx context.Context, store objstore.Store, key string) (Listing, error) {
	return List(ctx, oneObject{store, key}, key)
}

// oneObject lists only an object, and the names that belong to it.
type oneObject struct {
	objstore.Store
	key string
}

// List yields what the store lists, without other objects.
func (o oneObject) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for object, err := range o.Store.List(ctx, prefix) {
			if err == nil && object.Key != o.key && !strings.HasPrefix(object.Key, o.key+".") {
				continue
			}
			if !yield(object, err) {
				return
			}
		}
	}
}

// add adds a manifest to the listing, and returns the store's error if there is one.
func (l *Listing) add(item Item, reading Reading) error {
	_, exists := l.index.objects[item.Key]
	_, series := snapshot.ParseKey(item.Key)
	if !exists && !series {
		return nil // a foreign JSON file
	}
	entry := Entry{item.Key, reading.Manifest, l.index.verdict(item.Key)}
	switch {
	case reading.Unreadable():
		l.Unreadable[snapshot.ManifestKey(item.Key)] = reading.Err
		return reading.StoreError()
	case reading.Missing():
	case exists:
		l.Snapshots = append(l.Snapshots, entry)
	default:
		l.Headless = append(l.Headless, entry)
	}
	return nil
}

func (l *Listing) sort() {
	newest := func(a, b Entry) int {
		return cmp.Or(b.Manifest.CreatedAt.Compare(a.Manifest.CreatedAt), cmp.Compare(b.Key, a.Key))
	}
	slices.SortFunc(l.Snapshots, newest)
	slices.SortFunc(l.Headless, newest)
}

// Newest returns the snapshot that was taken last. It returns false if there is none.
func (l Listing) Newest() (Entry, bool) {
	if len(l.Snapshots) == 0 {
		return Entry{}, false
	}
	return l.Snapshots[0], true
}

// Written returns the keys that an EtcdBackup has written: those whose manifest has an Attempt that begins with mark. For
// each snapshot, the object is the first and the manifest is the last of its names.
func Written(listing Listing, mark string) (keys []string) {
	for _, entry := range slices.Concat(listing.Snapshots, listing.Headless) {
		if mark != "" && entry.Manifest.Writer() == mark && snapshot.Agrees(entry.Key, entry.Manifest) {
			keys = append(keys, listing.index.Names(entry.Key)...)
		}
	}
	return keys
}
