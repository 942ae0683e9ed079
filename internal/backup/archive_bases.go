package backup

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// needed returns the snapshots that an archive needs: all of its window, and the newest ones before it. The items are newest first.
func needed(items []snapshot.Item, window time.Duration) []snapshot.Item {
	newest := snapshot.Latest(items)
	older := slices.IndexFunc(items, func(i snapshot.Item) bool { return newest.Sub(i.Stored) >= window })
	if older < 0 {
		return items
	}
	return items[:min(len(items), older+maxBases)]
}

// basesOf returns the snapshots of a window, and before it, from which a replay can begin. It adds to known what it reads.
func basesOf(ctx context.Context, store objstore.Store, o jobSpec, known snapshot.Known, window time.Duration) (snapshot.Index, []archive.Base, error) {
	lives := snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster}.Lives()
	index, err := snapshot.Scan(ctx, store, lives)
	if err != nil {
		return index, nil, err
	}
	if err := index.Ask(ctx, store); err != nil {
		return index, nil, err
	}
	// Another EtcdBackup may have a folder below this one.
	index.Items = slices.DeleteFunc(index.Items, func(i snapshot.Item) bool { return i.Series.Lives() != lives })
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
		} else if item.Verdict != snapshot.Failed && !reading.Manifest.NoQuorum && o.ofCluster(item.Key, reading.Manifest) {
			bases = append(bases, source.BaseOf(item.Key, reading.Manifest, item.Stored))
		}
	}
	return index, bases, nil
}

// seen returns what all snapshots of the folder show, even those without a manifest: which cluster had which revision. It is pure.
func (o jobSpec) seen(index snapshot.Index, known snapshot.Known) []archive.Seen {
	var seen []archive.Seen
	unfinished := slices.DeleteFunc(index.Unfinished(), func(i snapshot.Item) bool { return i.Series.Lives() != o.seriesOf(0).Lives() })
	for _, item := range slices.Concat(index.Items, unfinished) {
		reading, read := known[item.Key]
		switch {
		case !read || reading.Err != nil:
			seen = append(seen, source.SeenByKey(item))
		case o.ofCluster(item.Key, reading.Manifest):
			seen = append(seen, source.BaseOf(item.Key, reading.Manifest, item.Stored).Seen())
		}
	}
	return seen
}

// outdatedBy returns what of the archive no target in the window needs. It asks the store for failed restore tests that the listing omits: a replay
// cannot begin with such a snapshot, so an earlier one needs what is before it.
func outdatedBy(ctx context.Context, store objstore.Getter, o jobSpec, survey archive.Survey, index snapshot.Index, known snapshot.Known) (outdated []archive.Name, more bool, err error) {
	if len(survey.Starts) == 0 {
		return nil, false, nil
	}
	id, err := strconv.ParseUint(survey.Starts[len(survey.Starts)-1].ClusterID, 16, 64)
	if err != nil {
		return nil, false, nil //nolint:nilerr // then it is not known what is needed
	}
	item, found, err := o.Keep.AskedBase(ctx, store, o.seriesOf(etcd.ID(id)), index, known)
	if !found || err != nil {
		return nil, false, err
	}
	outdated, more = archive.Outdated(survey.Names, survey.Starts, source.BaseOf(item.Key, known[item.Key].Manifest, item.Stored), maxOutdated)
	return outdated, more, nil
}
