package backup

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

const (
	// proofLinks is how many links one proof replays, unless there are more between two snapshots.
	proofLinks = archive.MaxLinks / 10
	// proofBases is how many manifests are read at a time to choose what to prove.
	proofBases = 64
)

// interval is a part of the archive between two snapshots.
type interval struct {
	timeline archive.Timeline
	choice   archive.Choice // how to get from the earlier snapshot to the later one
	to       v1beta2.Snapshot
	proofs   []archive.ProofName // of the whole archive
}

// provable are the snapshots of the newest one's series that did not fail, oldest first, with the manifests that were read.
type provable struct {
	store objstore.Store
	o     jobSpec
	items []snapshot.Item
	known snapshot.Known
}

func provableOf(ctx context.Context, store objstore.Store, o jobSpec) (provable, error) {
	s := provable{store: store, o: o, known: snapshot.Known{}}
	id, err := strconv.ParseUint(o.Newest.ClusterID, 16, 64)
	if err != nil {
		return s, nil //nolint:nilerr // then there is nothing to begin with
	}
	own := snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster, ClusterID: id}
	index, err := snapshot.Scan(ctx, store, own.Prefix())
	if err != nil {
		return s, err
	}
	for _, item := range slices.Backward(index.Items) {
		if item.Series == own && item.Verdict != snapshot.Failed {
			s.items = append(s.items, item)
		}
	}
	return s, nil
}

// bases reads the manifests of some items and returns those from which a replay can begin, by revision.
func (s provable) bases(ctx context.Context, items []snapshot.Item) ([]archive.Base, error) {
	if err := s.known.Read(ctx, s.store, items, snapshot.Anyone); err != nil {
		return nil, err
	}
	var bases []archive.Base
	for _, item := range items {
		if r := s.known[item.Key]; r.Err == nil && !r.Manifest.NoQuorum && s.o.ofCluster(item.Key, r.Manifest) {
			bases = append(bases, source.BaseOf(item.Key, r.Manifest, item.Stored))
		}
	}
	slices.SortStableFunc(bases, func(a, b archive.Base) int { return int(min(1, max(-1, a.Point.Revision-b.Point.Revision))) })
	return bases, nil
}

// from returns the place of the last base at a revision or before it. The revision in a key is not later than that of the snapshot, and not
// each snapshot is a base: one without quorum is none.
func (s provable) from(ctx context.Context, revision int64) (int, error) {
	for i, item := range slices.Backward(s.items) {
		if key, ok := snapshot.ParseKey(item.Key); !ok || key.Revision > revision {
			continue
		}
		bases, err := s.bases(ctx, s.items[i:i+1])
		if err != nil {
			return 0, err
		}
		if len(bases) > 0 && bases[0].Point.Revision <= revision {
			return i, nil
		}
	}
	return 0, nil
}

// unproven returns the bases of the oldest part of a range that no proof has, oldest first, and nothing if all is proven up to the limit. A
// proof of revisions after the limit does not count: anybody who can write to the store can write one.
func (s provable) unproven(ctx context.Context, proofs []archive.ProofName, r archive.Range, limit int64) ([]archive.Base, error) {
	proofs = slices.DeleteFunc(slices.Clone(proofs), func(n archive.ProofName) bool { return n.To > limit })
	for at := archive.Proven(proofs, r.Timeline, r.From.Revision); at < limit; {
		start, err := s.from(ctx, at)
		if err != nil {
			return nil, err
		}
		next := at
		for end := start; next == at && end < len(s.items); {
			end = min(len(s.items), end+proofBases)
			bases, err := s.bases(ctx, s.items[start:end])
			if err != nil {
				return nil, err
			}
			bases = slices.DeleteFunc(bases, func(b archive.Base) bool { return b.Point.Revision < r.From.Revision || b.Point.Revision > limit })
			var found []archive.Base
			if found, next = firstUnproven(bases, proofs, r.Timeline, at); found != nil {
				return found, nil
			}
		}
		if next == at {
			return nil, nil
		}
		at = next
	}
	return nil, nil
}

// firstUnproven returns the bases from the first one whose part up to the next one has no proof. Otherwise it returns up to which revision
// proofs lead, which is at least at.
func firstUnproven(bases []archive.Base, proofs []archive.ProofName, t archive.Timeline, at int64) ([]archive.Base, int64) {
	next := at
	for i, b := range bases {
		last := i+1 == len(bases) || bases[len(bases)-1].Point.Revision == b.Point.Revision
		if next = max(next, archive.Proven(proofs, t, b.Point.Revision)); last {
			break
		}
		later := bases[i+1].Point.Revision
		if later > b.Point.Revision && later > next {
			return bases[i:], next
		}
	}
	return nil, next
}

// proofRanges are the parts of the newest timeline in which the archive is proven.
func (o jobSpec) proofRanges(revision int64) []archive.Range {
	if len(o.Ranges) == 0 {
		return []archive.Range{{To: archive.Point{Revision: revision}}}
	}
	newest := o.Ranges[len(o.Ranges)-1].Timeline
	return slices.DeleteFunc(slices.Clone(o.Ranges), func(r archive.Range) bool { return r.Timeline != newest })
}

// choose returns the oldest part of the archive that was not proven yet. While an earlier proof has failed, it is that from its snapshot: from
// another one, the proof would pass beside the damage.
func (o jobSpec) choose(ctx context.Context, store objstore.Store, revision int64) (what interval, found bool, err error) {
	what.to = o.Newest
	what.to.Revision = revision
	if what.proofs, err = archive.Proofs(ctx, store, o.archiveRoot()); err != nil {
		return what, false, err
	}
	s, err := provableOf(ctx, store, o)
	if err != nil {
		return what, false, err
	}
	key, err := o.distrustedKey(ctx, store, what.proofs)
	if err != nil {
		return what, false, err
	}
	if key != "" {
		return s.again(ctx, what, key)
	}
	for _, r := range o.proofRanges(revision) {
		bases, err := s.unproven(ctx, what.proofs, r, min(r.To.Revision, revision))
		if err != nil {
			return what, false, err
		}
		if len(bases) == 0 {
			continue
		}
		to, err := o.furthest(ctx, store, r.Timeline, bases)
		if err != nil {
			return what, false, err
		}
		first := what
		if to.Point.Revision < revision {
			first.to = o.tell(to.Key, s.known[to.Key].Manifest, snapshot.Anyone)
			first.to.Revision = to.Point.Revision
		}
		first, found, err = o.reach(ctx, store, first, bases[:1])
		if err != nil || found && (r.Timeline == 0 || first.timeline == r.Timeline) {
			return first, found, err
		}
		return s.newest(ctx, what)
	}
	return what, false, nil
}

// again repeats a failed proof up to the newest snapshot.
func (s provable) again(ctx context.Context, what interval, key string) (interval, bool, error) {
	at := slices.IndexFunc(s.items, func(i snapshot.Item) bool { return i.Key == key })
	if at < 0 {
		return what, false, errStillFailed
	}
	bases, err := s.bases(ctx, s.items[at:at+1])
	if err != nil {
		return what, false, err
	}
	what, found, err := s.o.reach(ctx, s.store, what, slices.DeleteFunc(bases, func(b archive.Base) bool { return b.Point.Revision >= what.to.Revision }))
	if err == nil && !found {
		err = errStillFailed
	}
	return what, found, err
}

// newest begins with the newest snapshot that reaches the later one, because no older one does.
func (s provable) newest(ctx context.Context, what interval) (interval, bool, error) {
	bases, err := s.bases(ctx, s.items[max(0, len(s.items)-proofBases):])
	if err != nil {
		return what, false, err
	}
	return s.o.reach(ctx, s.store, what, slices.DeleteFunc(bases, func(b archive.Base) bool { return b.Point.Revision >= what.to.Revision }))
}

// reach completes an interval with the way from one of the bases. found is false if there is none.
func (o jobSpec) reach(ctx context.Context, store objstore.Store, what interval, bases []archive.Base) (interval, bool, error) {
	if len(bases) == 0 {
		return what, false, nil
	}
	choice, err := archive.Find(ctx, store, o.archiveRoot(), bases, archive.Progress{}, archive.Target{Revision: what.to.Revision})
	if archive.IsRefusal(err) {
		return what, false, nil
	}
	what.choice, what.timeline = choice, choice.Timeline
	return what, err == nil, err
}

// furthest returns the base up to which one proof rolls the first of them forward.
func (o jobSpec) furthest(ctx context.Context, store objstore.Store, t archive.Timeline, bases []archive.Base) (archive.Base, error) {
	first, last := bases[0], bases[len(bases)-1]
	later := slices.DeleteFunc(slices.Clone(bases), func(b archive.Base) bool { return b.Point.Revision == first.Point.Revision })
	if len(later) < 2 {
		return last, nil
	}
	all, release, err := archive.List(ctx, store, o.archiveRoot())
	if err != nil {
		return last, err
	}
	defer release()
	at := slices.IndexFunc(all, func(n archive.Names) bool { return n.Timeline == t })
	to := later[0]
	for _, b := range later {
		if at >= 0 && all[at].Between(first.Point.Revision, b.Point.Revision) <= proofLinks {
			to = b
		}
	}
	return to, nil
}

// distrustedKey returns the key of the snapshot from which a proof has failed, and nothing if none has or if the snapshot was deleted.
func (o jobSpec) distrustedKey(ctx context.Context, store objstore.Store, proofs []archive.ProofName) (string, error) {
	failed, err := standing(ctx, store, o.archiveRoot(), proofs)
	switch {
	case err != nil:
		return "", err
	case failed != nil && failed.FromKey == "": // its object cannot be decoded
		return "", errStillFailed
	case failed != nil:
		return failed.FromKey, nil
	case o.Distrusted == nil || o.Distrusted.From == "":
		return "", nil
	}
	key := strings.TrimPrefix(o.Distrusted.From, o.Target.Bucket+"/")
	gone, err := objstore.Gone(ctx, store, key)
	if gone || err != nil {
		return "", err
	}
	return key, nil
}
