package inventory

import (
	"context"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// coldSoon is the age of a snapshot that cannot be read until which another one would not help: snapshots may be stored in such a class.
const coldSoon = 24 * time.Hour

// maxBases is how many snapshots are read besides those of the window.
const maxBases = 1000

// needed returns the snapshots that an archive needs: all of its window, and the newest ones before it. The items are newest first.
func needed(items []catalog.Item, window time.Duration) []catalog.Item {
	newest := catalog.Latest(items)
	older := slices.IndexFunc(items, func(i catalog.Item) bool { return newest.Sub(i.Stored) >= window })
	if older < 0 {
		return items
	}
	return items[:min(len(items), older+maxBases)]
}

// Bases returns the snapshots of a window, and before it, from which a replay can begin. It adds to known what it reads.
func Bases(ctx context.Context, store objstore.Store, o state.JobSpec, known catalog.Known, window time.Duration) (catalog.Index, []archive.Base, error) {
	lives := snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster}.Lives()
	index, err := catalog.Scan(ctx, store, lives)
	if err != nil {
		return index, nil, err
	}
	if err := index.Ask(ctx, store); err != nil {
		return index, nil, err
	}
	// Another EtcdBackup may have a folder below this one.
	index.Items = slices.DeleteFunc(index.Items, func(i catalog.Item) bool { return i.Series.Lives() != lives })
	if _, err := known.ReadDrafts(ctx, store, index); err != nil {
		return index, nil, err
	}
	items := needed(index.Items, window)
	if err := known.Read(ctx, store, items, snapshot.Anyone); err != nil {
		return index, nil, err
	}
	var bases []archive.Base
	for _, item := range items {
		if reading := known[item.Key]; reading.Err != nil {
			delete(known, item.Key) // to read it again next time
		} else if item.Verdict != snapshot.Failed && !reading.Manifest.NoQuorum && o.OfCluster(item.Key, reading.Manifest) {
			bases = append(bases, source.BaseOf(item.Key, reading.Manifest, item.Stored))
		}
	}
	return index, bases, nil
}

// readable divides bases into those that the store returns, and those that it does not: a lifecycle rule may have moved their objects. It asks for
// those that the listing names as cold.
func readable(ctx context.Context, store objstore.Getter, index catalog.Index, bases []archive.Base) (warm []archive.Base, cold []archive.ColdBase, err error) {
	for _, b := range bases {
		var unread error
		if item, found := index.Find(b.Key); found && item.Cold {
			if unread, err = item.Unread(ctx, store); err != nil {
				return nil, nil, err
			}
		}
		if unread != nil {
			cold = append(cold, archive.ColdBase{Base: b, Err: unread})
		} else {
			warm = append(warm, b)
		}
	}
	return warm, cold, nil
}

// within returns those of a window, newest first as in the index. Older ones may be cold for good, because no range begins with them.
func within(cold []archive.ColdBase, index catalog.Index, window time.Duration) []archive.ColdBase {
	newest := catalog.Latest(index.Items)
	return slices.DeleteFunc(cold, func(c archive.ColdBase) bool { return newest.Sub(c.Stored) >= window })
}

// Vain reports whether another snapshot would not help: an own one that is as new and reaches the end of the archive cannot be read. Another
// EtcdBackup may keep its snapshots in an archive class on purpose.
func Vain(o state.JobSpec, survey archive.Survey, known catalog.Known, now time.Time) bool {
	return slices.ContainsFunc(survey.ColdBases, func(c archive.ColdBase) bool {
		return o.Took(c.Key, known[c.Key].Manifest) && survey.Reaches(c) && clock.Elapsed(c.Stored, now) < coldSoon
	})
}

// seenBy returns what all snapshots of the folder show, even those without a manifest: which cluster had which revision. It is pure.
func seenBy(o state.JobSpec, index catalog.Index, known catalog.Known) []archive.Seen {
	var seen []archive.Seen
	unfinished := slices.DeleteFunc(index.Unfinished(), func(i catalog.Item) bool { return i.Series.Lives() != o.SeriesOf(0).Lives() })
	for _, item := range slices.Concat(index.Items, unfinished) {
		reading, read := known[item.Key]
		switch {
		case !read || reading.Err != nil:
			seen = append(seen, source.SeenByKey(item))
		case o.OfCluster(item.Key, reading.Manifest):
			seen = append(seen, source.BaseOf(item.Key, reading.Manifest, item.Stored).Seen())
		}
	}
	return seen
}
