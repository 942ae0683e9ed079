package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// archives is the folder of continuous archives, which have many objects and no snapshots.
const archives = "continuous-archive/"

// ofArchive reports whether a key is that of an archive. A series may be in the same folder, because a path or a namespace may have its name.
func ofArchive(key string) bool {
	return strings.HasPrefix(key, archives) && (strings.HasSuffix(key, ".segment") || strings.HasSuffix(key, ".proof-passed") || strings.HasSuffix(key, ".proof-failed") || strings.HasSuffix(key, "/start"))
}

// maxNames is how many names Scan and ScanNewest hold, if the memory of the process has room for them. See objstore.Hold.
var maxNames = objstore.MaxNames

// Scan lists a prefix and reads no object. A prefix is a string and not a directory: end it with a slash, as
// Series.Prefix does.
func Scan(ctx context.Context, store objstore.Store, prefix string) (Index, error) {
	held := objstore.HeldIn(ctx, maxNames)
	objects := map[string]objstore.Object{}
	for object, err := range store.List(objstore.Unheld(ctx), prefix) {
		switch {
		case err != nil:
			held.Drop()
			return Index{}, fmt.Errorf("list snapshots: %w", err)
		case ofArchive(object.Key):
			continue
		}
		if err := held.Add(len(object.Key)); err != nil {
			held.Drop()
			return Index{}, fmt.Errorf("list snapshots below %q: %w", prefix, err)
		}
		objects[object.Key] = object
	}
	return NewIndex(objects), nil
}

// ScanNewest is Scan for the prefix of a series, which may have any number of names. If they are more than the operator holds, the index
// has those of the newest snapshots only, and Index.Incomplete is the reason.
func ScanNewest(ctx context.Context, store objstore.Store, prefix string) (Index, error) {
	held := objstore.HeldIn(ctx, maxNames)
	var incomplete error
	var newest []objstore.Object // in the order of the store, which is that of time
	foreign := func(o objstore.Object) bool { _, ours := snapshot.ParseKey(snapshotOf(o.Key)); return !ours }
	for object, err := range store.List(objstore.Unheld(ctx), prefix) {
		if err != nil {
			held.Drop()
			return Index{}, fmt.Errorf("list snapshots: %w", err)
		}
		if incomplete != nil && foreign(object) {
			continue
		}
		newest = append(newest, object)
		if err := held.Add(len(object.Key)); err != nil {
			if incomplete == nil {
				incomplete = fmt.Errorf("list snapshots below %q: %w", prefix, err)
				newest = slices.DeleteFunc(newest, foreign)
			} else {
				newest = slices.Delete(newest, 0, len(newest)/2) // a half, so that few names are moved
			}
			held.Drop()
			held = heldOf(ctx, newest)
		}
	}
	objects := make(map[string]objstore.Object, len(newest))
	for _, object := range newest {
		objects[object.Key] = object
	}
	index := NewIndex(objects)
	index.Incomplete = incomplete
	return index, nil
}

// heldOf counts names that are held already.
func heldOf(ctx context.Context, objects []objstore.Object) objstore.Held {
	held := objstore.HeldIn(ctx, maxNames)
	for _, o := range objects {
		_ = held.Add(len(o.Key)) // a part of those that were held before
	}
	return held
}
