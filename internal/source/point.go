package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// Encoding is that of what the point is made of. A snapshot of the point must not be less protected.
func (p Point) Encoding() codec.Encoding {
	e := p.Manifest.Encoding()
	for _, l := range p.Links {
		e.Encryption = max(e.Encryption, l.Header.Encryption)
	}
	return e
}

// Bytes is the size of all records that are replayed.
func (p Point) Bytes() (n int64) {
	for _, l := range p.Links {
		n += l.Header.Size
	}
	return n
}

// Held is how many bytes the headers of the segments count while they are held.
func (p Point) Held() (n int64) {
	for _, l := range p.Links {
		n += l.Held()
	}
	return n
}

// maxBases is how many snapshots are looked at, newest first. Those after the target do not count.
const maxBases = 1000

// FindPoint finds out how to reach the revision or the time of c in the folder of src. The error is an *archive.Refusal if it
// cannot be reached, and ErrAmbiguous if the folder has snapshots of several clusters. The snapshots with the keys without are not used: they
// are damaged. Signatures do not cover an archive, so with signers nothing is found.
func FindPoint(ctx context.Context, src v1beta2.RestoreSource, by By, c Choice, progress archive.Progress, without ...string) (Point, error) {
	target, err := c.target()
	if err != nil {
		return Point{}, err
	}
	if by.Signers.Required() {
		return Point{}, fmt.Errorf("find %s: %w: the continuous archive has no signatures", target, snapshot.ErrNotSigned)
	}
	store, err := open(ctx, src, by)
	if err != nil {
		return Point{}, err
	}
	return c.findPoint(ctx, store, src, target, progress, without)
}

// findPoint is FindPoint for a store that is open.
func (c Choice) findPoint(ctx context.Context, store objstore.Store, src v1beta2.RestoreSource, target archive.Target, progress archive.Progress, without []string) (Point, error) {
	folder, err := c.read(ctx, store, src, target, without)
	if err != nil {
		return Point{}, err
	}
	search := folder.search(target)
	search.progress = progress
	p := Point{Base: src, Store: store, Root: folder.root}
	if p.Choice, err = search.find(ctx); err != nil {
		if refusal := (*archive.Refusal)(nil); errors.As(err, &refusal) && folder.unread != nil {
			err = folder.unread // the point may need a snapshot that the store does not return
		}
		return Point{}, fmt.Errorf("in the archive %s/%s: %w", src.Bucket, p.Root, err)
	}
	if failed, err := snapshot.FailedTest(ctx, store, p.Choice.Base.Key); err != nil {
		return Point{}, fmt.Errorf("find %s: %w", target, err)
	} else if failed { // the listing has omitted it
		return c.findPoint(ctx, store, src, target, progress, append(slices.Clip(without), p.Choice.Base.Key))
	}
	if target.Revision == 0 {
		p.lag = lagOf(ctx, store, p.Choice)
	}
	return folder.of(p), nil
}

// folder is what a store has of the archive of one cluster.
type folder struct {
	choice    Choice
	store     objstore.Store
	root      string
	bases     []archive.Base
	seen      []archive.Seen
	known     catalog.Known
	histories histories
	unread    error // why a snapshot is missing that the store does not return; nil if there is none
}

// read reads which snapshots of the folder of src can be bases for a target, and whose they are.
func (c Choice) read(ctx context.Context, store objstore.Store, src v1beta2.RestoreSource, target archive.Target, without []string) (f folder, err error) {
	f.choice, f.store = c, store
	index, err := scan(ctx, store, src.Key)
	if err != nil {
		return f, fmt.Errorf("find %s: %w", target, err)
	}
	listed, items, err := c.bases(ctx, store, src, target, index)
	if err != nil {
		return f, fmt.Errorf("find %s: %w", target, err)
	}
	if f.known, f.unread, err = c.manifests(ctx, store, index, listed, items); err != nil {
		return f, err
	}
	// A snapshot that is not used decides nevertheless whose the others are: one of a twin must not take the place of the only own one.
	f.bases = slices.DeleteFunc(c.basesOf(items, f.known), func(b archive.Base) bool { return slices.Contains(without, b.Key) })
	shown := append(slices.Clip(listed), inSeries(c, src.Key, index.Unfinished())...)
	if f.histories, err = c.histories(ctx, store, shown, f.known); err != nil {
		return f, err
	}
	if err := c.onlyTwins(items, f.known, target); len(f.bases) == 0 && err != nil {
		return f, fmt.Errorf("in the archive of %s/%s: %w", src.Bucket, src.Key, err)
	}
	if err := c.oneOwner(f.bases, f.known); err != nil {
		return f, fmt.Errorf("find %s: %s/%s: %w", target, src.Bucket, src.Key, err)
	}
	series := listed[0].Series
	f.root, f.seen = archive.Root(series.Folder, series.Namespace, series.Cluster), c.seen(shown, f.known)
	return f, nil
}

func (f folder) search(target archive.Target) search {
	return search{Choice: f.choice, histories: f.histories, store: f.store, root: f.root, bases: f.bases, seen: f.seen, known: f.known, target: target}
}

// of completes a point with what its base shows.
func (f folder) of(p Point) Point {
	p.Base.Key = p.Choice.Base.Key
	p.Manifest = f.known[p.Base.Key].Manifest
	if uid := p.Manifest.Cluster.UID; f.histories.uid != "" && uid != f.histories.uid {
		p.Other = uid
	}
	parsed, _ := snapshot.ParseKey(p.Base.Key)
	p.Series, p.Alike = parsed.Series, alike(f.bases, f.known, p.Manifest.Backup)
	return p
}

// alike returns the keys of the encrypted bases of an EtcdBackup.
func alike(bases []archive.Base, known catalog.Known, backup string) (keys []string) {
	for _, b := range bases {
		if m := known[b.Key].Manifest; m.Backup == backup && m.Encryption != "" {
			keys = append(keys, b.Key)
		}
	}
	return keys
}

// manifests reads what is known of the snapshots of a folder. unread says which one the store does not return.
func (c Choice) manifests(ctx context.Context, store objstore.Store, index catalog.Index, listed []candidate, items []catalog.Item) (known catalog.Known, unread, err error) {
	known = catalog.Known{}
	if unread, err = readEach(ctx, store, known, items, snapshot.Anyone); err != nil {
		return nil, nil, err
	}
	// The manifests of those that failed their restore tests say after which recovery of the cluster they were taken, and drafts say it of those
	// without a manifest.
	if _, err := readEach(ctx, store, known, failedOf(listed), snapshot.Anyone); err != nil {
		return nil, nil, err
	}
	undrafted, err := known.ReadDrafts(ctx, store, index)
	return known, cmp.Or(unread, undrafted), err
}

// basesOf returns the snapshots that can be bases. Those of another Kubernetes count only if the choice names their cluster ID and there is no own
// one: a replay from one of them would mix the data of two clusters.
func (c Choice) basesOf(items []catalog.Item, known catalog.Known) []archive.Base {
	var own, admitted []archive.Base
	strict := c
	strict.ClusterID = ""
	for _, item := range items {
		reading := known[item.Key]
		if reading.Err != nil || reading.Manifest.NoQuorum || c.ofAnother(item.Key, reading.Manifest) {
			continue
		}
		b := BaseOf(item.Key, reading.Manifest, item.Stored)
		admitted = append(admitted, b)
		if !strict.ofAnother(item.Key, reading.Manifest) {
			own = append(own, b)
		}
	}
	if len(own) == 0 {
		return admitted
	}
	return own
}

// target returns the revision or the time of a choice.
func (c Choice) target() (archive.Target, error) {
	if c.Revision > 0 {
		return archive.Target{Revision: c.Revision}, nil
	}
	at, err := time.Parse(time.RFC3339, c.Time)
	if err != nil {
		return archive.Target{}, fmt.Errorf("%w: %q is no time", ErrConfig, c.Time)
	}
	return archive.Target{Time: at}, nil
}

// bases returns the snapshots of one cluster, newest first, and those of them that may be bases for a target. All incarnations of the cluster
// share an archive.
func (c Choice) bases(ctx context.Context, store objstore.Store, src v1beta2.RestoreSource, target archive.Target, index catalog.Index) (listed []candidate, items []catalog.Item, err error) {
	found := map[string]snapshot.Series{}
	fitting := inSeries(c, src.Key, index.Items) // newest first
	if len(clustersOf(fitting)) > 1 {
		if fitting, err = truthful(ctx, store, fitting, snapshot.Anyone); err != nil {
			return nil, nil, err
		}
	}
	for _, e := range fitting {
		found[e.Series.Lives()] = e.Series
	}
	items = usable(fitting, target)
	folder := src.Bucket + "/" + src.Key
	switch {
	case len(items) == 0:
		return nil, nil, fmt.Errorf("%s has no snapshot of a series to begin with: %w", folder, fs.ErrNotExist)
	case len(found) > 1:
		var folders []string
		for name := range found {
			folders = append(folders, name)
		}
		slices.Sort(folders)
		return nil, nil, fmt.Errorf("%s: %w: %s: write the folder of one of them", folder, ErrAmbiguous, strings.Join(folders, ", "))
	}
	return fitting, items, nil
}

// usable returns those of the snapshots, newest first, whose manifests are worth reading for a target. An incarnation of the cluster that has
// many snapshots must not keep those of an earlier one from being read: which one has the target is not known before.
func usable(fitting []candidate, target archive.Target) []catalog.Item {
	later, last, count := map[string]bool{}, map[string]int64{}, map[string]int{}
	var items []catalog.Item
	for _, e := range slices.Backward(fitting) {
		// Of those after the target, only the oldest one matters: a refusal names it. A later one may be before the target again: after the
		// recovery of a lost quorum, the cluster has the same ID and lower revisions.
		beyond, revision := after(e.Item, target), SeenByKey(e.Item).Revision
		later[e.clusterID] = later[e.clusterID] && revision >= last[e.clusterID]
		last[e.clusterID] = revision
		if e.Verdict == snapshot.Failed || beyond && later[e.clusterID] {
			continue
		}
		later[e.clusterID] = later[e.clusterID] || beyond
		items = append(items, e.Item)
	}
	slices.Reverse(items)
	return slices.DeleteFunc(items, func(item catalog.Item) bool {
		count[item.Series.ID()]++
		return count[item.Series.ID()] > maxBases
	})
}

// failedOf returns the newest snapshots that failed their restore tests.
func failedOf(fitting []candidate) []catalog.Item {
	var items []catalog.Item
	for _, e := range fitting {
		if e.Verdict == snapshot.Failed && len(items) < maxBases {
			items = append(items, e.Item)
		}
	}
	return items
}

// inSeries returns the snapshots of series that the choice admits by their names.
func inSeries(c Choice, prefix string, items []catalog.Item) []candidate {
	var all []candidate
	for _, item := range items {
		if item.InSeries() && !snapshot.IsSafety(prefix, item.Key) {
			all = append(all, candidate{item, item.Series.Namespace + "/" + item.Series.Cluster, item.Series.ID()})
		}
	}
	return slices.DeleteFunc(atHome(all), func(e candidate) bool {
		return c.Of != "" && e.cluster != c.Of || c.ClusterID != "" && c.ClusterID != e.clusterID
	})
}

// after reports by the name of a snapshot whether it is after a target. A snapshot may have a higher revision than its name.
func after(item catalog.Item, target archive.Target) bool {
	if target.Revision > 0 {
		named, _ := snapshot.ParseKey(item.Key)
		return named.Revision > target.Revision
	}
	return item.Time.After(target.Time)
}
