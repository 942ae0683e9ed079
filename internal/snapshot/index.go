package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Item is a snapshot as a listing of names describes it: an object with a manifest that has not been read.
type Item struct {
	Key string
	// Series is that of the key. It is the zero Series if the key is not one of a series.
	Series Series
	// Time is that of the key. If the key is not one of a series, Time is when the store received the object.
	Time time.Time
	// Size of the object in bytes. Listed reports whether a listing has the object: else its size is not known, and 0.
	Size   int64
	Listed bool
	// Verdict is the result of the last restore test.
	Verdict Result
	// Stored is when the store received the object, by its own clock.
	Stored time.Time
	// Cold is that of the object, see objstore.Object.
	Cold bool
}

// InSeries reports whether the key is one of a series.
func (i Item) InSeries() bool { return i.Series != Series{} }

// Index is the content of a prefix as far as names describe it.
type Index struct {
	// Items are the snapshots, newest first.
	Items []Item
	// Headless are keys of a series with a manifest and no object: a process was killed while it deleted the snapshot.
	Headless []string
	// Uncommitted are objects without a manifest that are named like a snapshot of a series. Each of them is being
	// written, or its writer was killed.
	Uncommitted []objstore.Object
	// Incomplete is why the index lacks the oldest snapshots; nil if it has all. Nothing may be deleted by an incomplete index.
	Incomplete error
	// manifests are the keys of all names that end like a manifest.
	manifests []string
	// objects are all objects by name.
	objects map[string]objstore.Object
	// drafts are the names of the drafts of each key.
	drafts map[string][]string
}

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
	return newIndex(objects), nil
}

// ScanNewest is Scan for the prefix of a series, which may have any number of names. If they are more than the operator holds, the index
// has those of the newest snapshots only, and Index.Incomplete is the reason.
func ScanNewest(ctx context.Context, store objstore.Store, prefix string) (Index, error) {
	held := objstore.HeldIn(ctx, maxNames)
	var incomplete error
	var newest []objstore.Object // in the order of the store, which is that of time
	foreign := func(o objstore.Object) bool { _, ours := ParseKey(snapshotOf(o.Key)); return !ours }
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
	index := newIndex(objects)
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

// snapshotOf returns the key of the snapshot that a name belongs to.
func snapshotOf(name string) string {
	for _, of := range []func(string) (string, bool){draftedKey, testedKey, ofManifest} {
		if key, ok := of(name); ok {
			return key
		}
	}
	return name
}

// newIndex returns the index of a prefix that has these objects.
func newIndex(objects map[string]objstore.Object) Index {
	index := Index{objects: objects, drafts: map[string][]string{}}
	for name, object := range index.objects {
		index.sort(name, object)
	}
	slices.SortFunc(index.Items, newestFirst)
	slices.Sort(index.Headless)
	slices.SortFunc(index.Uncommitted, func(a, b objstore.Object) int { return cmp.Compare(a.Key, b.Key) })
	return index
}

// sort adds one object to the list that its name belongs to.
func (x *Index) sort(name string, object objstore.Object) {
	if key, ok := ofManifest(name); ok {
		x.manifests = append(x.manifests, key)
		_, series := ParseKey(key)
		if _, exists := x.objects[key]; !exists && series {
			x.Headless = append(x.Headless, key)
		}
		return
	}
	if key, ok := draftedKey(name); ok {
		x.drafts[key] = append(x.drafts[key], name)
		return
	}
	parsed, series := ParseKey(name)
	_, committed := x.objects[ManifestKey(name)]
	switch {
	case committed && series:
		x.Items = append(x.Items, Item{Key: name, Series: parsed.Series, Time: parsed.Time, Size: object.Size, Listed: true, Verdict: x.verdict(name), Stored: object.ModTime, Cold: object.Cold})
	case committed:
		x.Items = append(x.Items, Item{Key: name, Time: object.ModTime, Size: object.Size, Listed: true, Verdict: x.verdict(name), Stored: object.ModTime, Cold: object.Cold})
	case series:
		x.Uncommitted = append(x.Uncommitted, object)
	}
}

// verdict returns the result of the restore test of a snapshot. A failed one stands until the next test. A passed one
// counts only if it is not older than the manifest: otherwise it describes an earlier object under the same key.
func (x *Index) verdict(key string) Result {
	if _, failed := x.objects[VerdictKey(key, Failed)]; failed {
		return Failed
	}
	passed, ok := x.objects[VerdictKey(key, Passed)]
	if ok && !passed.ModTime.Before(x.objects[ManifestKey(key)].ModTime) {
		return Passed
	}
	return ""
}

// Add adds a snapshot that was saved after the scan.
func (x *Index) Add(key string, m Manifest) {
	parsed, _ := ParseKey(key)
	item := Item{Key: key, Series: parsed.Series, Time: parsed.Time, Size: m.Size}
	x.commit(item)
}

// Judge sets the verdict of a snapshot that was tested after the scan.
func (x *Index) Judge(key string, result Result) {
	for i := range x.Items {
		if x.Items[i].Key != key {
			continue
		}
		x.Items[i].Verdict = result
		for _, r := range results {
			delete(x.objects, VerdictKey(key, r))
		}
		x.objects[VerdictKey(key, result)] = objstore.Object{Key: VerdictKey(key, result)}
	}
}

// Find returns the item of a key.
func (x Index) Find(key string) (Item, bool) {
	i := slices.IndexFunc(x.Items, func(i Item) bool { return i.Key == key })
	if i < 0 {
		return Item{}, false
	}
	return x.Items[i], true
}

// hasManifest reports whether a key has a manifest.
func (x Index) hasManifest(key string) bool {
	_, has := x.objects[ManifestKey(key)]
	return has
}

// draftsOf returns the names of the drafts of a key.
func (x Index) draftsOf(key string) []string { return x.drafts[key] }

// completeDrafts returns the names of the drafts whose key has a manifest.
func (x Index) completeDrafts() (names []string) {
	for key, drafts := range x.drafts {
		if x.hasManifest(key) {
			names = append(names, drafts...)
		}
	}
	return names
}

// names returns all names of a snapshot in the order in which they are deleted. The manifest is the last, so that a
// killed process leaves a manifest that the next run recognises as Headless.
func (x Index) names(key string) []string {
	names := []string{key}
	for _, result := range results {
		if _, exists := x.objects[VerdictKey(key, result)]; exists {
			names = append(names, VerdictKey(key, result))
		}
	}
	return append(append(names, x.drafts[key]...), ManifestKey(key))
}

func newestFirst(a, b Item) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Key, a.Key)) }

// commit adds a snapshot, which may have been unfinished. An index has each snapshot once: retention would delete it as an earlier one than itself.
func (x *Index) commit(item Item) {
	x.Uncommitted = slices.DeleteFunc(slices.Clone(x.Uncommitted), func(o objstore.Object) bool { return o.Key == item.Key })
	at, found := slices.BinarySearchFunc(x.Items, item, newestFirst)
	if found {
		return
	}
	x.Items = slices.Insert(slices.Clip(x.Items), at, item)
}
