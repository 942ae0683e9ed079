package catalog

import (
	"cmp"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// SetVerdict sets the verdict of an item, and not that of the store's objects.
func (x *Index) SetVerdict(key string, result snapshot.Result) {
	for i := range x.Items {
		if x.Items[i].Key == key {
			x.Items[i].Verdict = result
		}
	}
}

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

// snapshotOf returns the key of the snapshot that a name belongs to.
func snapshotOf(name string) string {
	for _, of := range []func(string) (string, bool){snapshot.DraftedKey, snapshot.TestedKey, snapshot.OfManifest} {
		if key, ok := of(name); ok {
			return key
		}
	}
	return name
}

// NewIndex returns the index of a prefix that has these objects.
func NewIndex(objects map[string]objstore.Object) Index {
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
	if key, ok := snapshot.OfManifest(name); ok {
		x.manifests = append(x.manifests, key)
		_, series := snapshot.ParseKey(key)
		if _, exists := x.objects[key]; !exists && series {
			x.Headless = append(x.Headless, key)
		}
		return
	}
	if key, ok := snapshot.DraftedKey(name); ok {
		x.drafts[key] = append(x.drafts[key], name)
		return
	}
	parsed, series := snapshot.ParseKey(name)
	_, committed := x.objects[snapshot.ManifestKey(name)]
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
func (x *Index) verdict(key string) snapshot.Result {
	if _, failed := x.objects[snapshot.VerdictKey(key, snapshot.Failed)]; failed {
		return snapshot.Failed
	}
	passed, ok := x.objects[snapshot.VerdictKey(key, snapshot.Passed)]
	if ok && !passed.ModTime.Before(x.objects[snapshot.ManifestKey(key)].ModTime) {
		return snapshot.Passed
	}
	return ""
}

// Add adds a snapshot that was saved after the scan.
func (x *Index) Add(key string, m snapshot.Manifest) {
	parsed, _ := snapshot.ParseKey(key)
	item := Item{Key: key, Series: parsed.Series, Time: parsed.Time, Size: m.Size}
	x.Commit(item)
}

// Judge sets the verdict of a snapshot that was tested after the scan.
func (x *Index) Judge(key string, result snapshot.Result) {
	for i := range x.Items {
		if x.Items[i].Key != key {
			continue
		}
		x.Items[i].Verdict = result
		for _, r := range snapshot.Results {
			delete(x.objects, snapshot.VerdictKey(key, r))
		}
		x.objects[snapshot.VerdictKey(key, result)] = objstore.Object{Key: snapshot.VerdictKey(key, result)}
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

// HasManifest reports whether a key has a manifest.
func (x Index) HasManifest(key string) bool {
	_, has := x.objects[snapshot.ManifestKey(key)]
	return has
}

// DraftsOf returns the names of the drafts of a key.
func (x Index) DraftsOf(key string) []string { return x.drafts[key] }

// CompleteDrafts returns the names of the drafts whose key has a manifest.
func (x Index) CompleteDrafts() (names []string) {
	for key, drafts := range x.drafts {
		if x.HasManifest(key) {
			names = append(names, drafts...)
		}
	}
	return names
}

// Names returns all names of a snapshot in the order in which they are deleted. The manifest is the last, so that a
// killed process leaves a manifest that the next run recognises as Headless.
func (x Index) Names(key string) []string {
	names := []string{key}
	for _, result := range snapshot.Results {
		if _, exists := x.objects[snapshot.VerdictKey(key, result)]; exists {
			names = append(names, snapshot.VerdictKey(key, result))
		}
	}
	return append(append(names, x.drafts[key]...), snapshot.ManifestKey(key))
}

// Commit adds a snapshot, which may have been unfinished. An index has each snapshot once: retention would delete it as an earlier one than itself.
func (x *Index) Commit(item Item) {
	x.Uncommitted = slices.DeleteFunc(slices.Clone(x.Uncommitted), func(o objstore.Object) bool { return o.Key == item.Key })
	at, found := slices.BinarySearchFunc(x.Items, item, newestFirst)
	if found {
		return
	}
	x.Items = slices.Insert(slices.Clip(x.Items), at, item)
}
