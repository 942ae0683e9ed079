package archiving

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/archive/follower"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// needed returns the snapshots that an archive needs: all of its window, and the newest ones before it. The items are newest first.
func needed(items []catalog.Item, window time.Duration) []catalog.Item {
	newest := catalog.Latest(items)
	older := slices.IndexFunc(items, func(i catalog.Item) bool { return newest.Sub(i.Stored) >= window })
	if older < 0 {
		return items
	}
	return items[:min(len(items), older+maxBases)]
}

// basesOf returns the snapshots of a window, and before it, from which a replay can begin. It adds to known what it reads.
func basesOf(ctx context.Context, store objstore.Store, o state.JobSpec, known catalog.Known, window time.Duration) (catalog.Index, []archive.Base, error) {
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

// vain reports whether another snapshot would not help: an own one that is as new and reaches the end of the archive cannot be read. Another
// EtcdBackup may keep its snapshots in an archive class on purpose.
func vain(o state.JobSpec, survey archive.Survey, known catalog.Known, now time.Time) bool {
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

// neededFrom returns the base before which no target in the window needs anything, and false if there is none. It asks the store for failed restore tests
// that the listing omits: a replay cannot begin with such a snapshot, so an earlier one needs what is before it. The targets after each of the selected
// bases are needed, too.
func neededFrom(ctx context.Context, store objstore.Store, o state.JobSpec, survey archive.Survey, index catalog.Index, known catalog.Known, selected ...archive.Base) (base archive.Base, found bool, err error) {
	if len(survey.Starts) == 0 {
		return base, false, nil
	}
	id, err := strconv.ParseUint(survey.Starts[len(survey.Starts)-1].ClusterID, 16, 64)
	if err != nil {
		return base, false, nil //nolint:nilerr // then it is not known what is needed
	}
	items, err := o.Keep.AskedBases(ctx, store, o.SeriesOf(etcd.ID(id)), index, known)
	if len(items) == 0 || err != nil {
		return base, false, err
	}
	froms := make([]archive.Base, len(items))
	for i, item := range items {
		froms[i] = source.BaseOf(item.Key, known[item.Key].Manifest, item.Stored)
	}
	base = froms[len(froms)-1] // the signed one, if there are two
	for _, b := range slices.Concat(froms, selected) {
		from := follower.FloorOf(survey, b) // a store may have received the older one later
		older := b.Stored.Before(base.Stored) || b.Point.At.Before(base.Point.At)
		if before := from.Before(follower.FloorOf(survey, base)); before && from != (follower.Floor{}) || older && from == (follower.Floor{}) {
			base = b
		}
	}
	return base, true, nil
}

// outdatedBy returns what of the archive neither a target in the window needs, nor one after a selected base.
func outdatedBy(ctx context.Context, store objstore.Store, o state.JobSpec, survey archive.Survey, index catalog.Index, known catalog.Known, selected ...archive.Base) (outdated []archive.Name, more bool, err error) {
	base, found, err := neededFrom(ctx, store, o, survey, index, known, selected...)
	if !found || err != nil {
		return nil, false, err
	}
	return survey.Outdated(ctx, store, o.ArchiveRoot(), base, maxOutdated)
}

// selectedBases returns the bases that each waiting EtcdRestore may begin with, and those with the signature that is required: others can write any number
// without one.
func selectedBases(o state.JobSpec, selections []clients.Selection, bases []archive.Base, known catalog.Known) (selected []archive.Base) {
	selected = choices(selections, bases)
	if !o.Keep.Signers.Required() {
		return selected
	}
	return append(selected, choices(selections, slices.DeleteFunc(slices.Clone(bases), func(b archive.Base) bool {
		return o.Keep.Signers.Check(b.Key, known[b.Key].Manifest) != nil
	}))...)
}

func choices(selections []clients.Selection, bases []archive.Base) (chosen []archive.Base) {
	byKey, names := make(map[string]archive.Base, len(bases)), make([]string, 0, len(bases))
	for _, b := range bases {
		byKey[b.Key], names = b, append(names, b.Key)
	}
	among, has := clients.Candidates(names), map[string]bool{}
	for _, s := range selections {
		if !s.Point {
			continue
		}
		for _, key := range s.Choices(among) {
			if !has[key] { // each is compared with all timelines
				has[key], chosen = true, append(chosen, byKey[key])
			}
		}
	}
	return chosen
}

// maxOutdated is how many outdated links are held between two looks, and maxRefused is how many keys.
const maxOutdated, maxRefused = 50_000, 1000

// coldSoon is the age of a snapshot that cannot be read until which another one would not help: snapshots may be stored in such a class.
const coldSoon = 24 * time.Hour

// maxBases is how many snapshots are looked at besides those of the window.
const maxBases = 1000

// cover asks for a snapshot if the newest revisions cannot be restored without it. A snapshot of another EtcdBackup does not count: it may be
// deleted at any time, by the retention of that EtcdBackup or with it.
func (k *keeper) cover(ctx context.Context, o state.JobSpec, bases []archive.Base) {
	ours := func(b archive.Base) bool {
		return o.Took(b.Key, k.known[b.Key].Manifest) && k.survey.Covers(b)
	}
	switch {
	case !k.survey.Covered:
		k.askForBase(ctx, fmt.Sprintf("no snapshot reaches the revisions after %d", k.survey.Unbroken))
	case !slices.ContainsFunc(bases, ours):
		k.askForBase(ctx, fmt.Sprintf("no snapshot of EtcdBackup %s reaches the revisions after %d", o.Name, k.survey.Unbroken))
	}
}

// askForBase asks for a snapshot, for example because the newest revisions cannot be restored without one. An archiver before this one
// may have ended before it got it, or somebody has deleted it.
func (k *keeper) askForBase(ctx context.Context, reason string) {
	reason = archiver.Because(k.current().recovery, reason)
	at, again := k.asked[reason]
	if k.vain || k.Archiver.look().Want != "" || again && k.job.Now().Sub(at) < limits.AskAgain {
		return
	}
	k.asked[reason] = k.job.Now()
	go func() {
		_, _ = k.ask(ctx, reason) // it fails only if ctx ends
	}()
}

// following returns how many segments follow the newest snapshot.
func (k *keeper) following(now archiver.Status) int64 {
	return int64(k.survey.Following) + now.Segments - k.seen.Segments
}

// limitLinks asks for a snapshot before so many segments follow the last one that a restore refuses them.
func (k *keeper) limitLinks(ctx context.Context, status archiver.Status) {
	const limit = archive.MaxLinks / 2
	if k.surveyed && k.following(status) >= limit {
		k.askForBase(ctx, fmt.Sprintf("%d segments follow the snapshot at revision %d", limit, k.base))
	}
}
