package verify

import (
	"context"
	"errors"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

const (
	// proofLinks is how many links one proof replays, unless there are more between two snapshots.
	proofLinks = archive.MaxLinks / 10
)

// interval is a part of the archive between two snapshots.
type interval struct {
	timeline archive.Timeline
	choice   archive.Choice // how to get from the earlier snapshot to the later one
	to       v1beta2.Snapshot
	proofs   []archive.ProofName // of the whole archive
	unread   error               // why an earlier part is not proven: the store does not return a segment of it
	repeated bool                // an earlier proof of it has failed
}

// proofRanges are the parts of the newest timeline in which the archive is proven.
func proofRanges(o state.JobSpec, revision int64) []archive.Range {
	if len(o.Ranges) == 0 {
		return []archive.Range{{To: archive.Point{Revision: revision}}}
	}
	newest := o.Ranges[len(o.Ranges)-1].Timeline
	return slices.DeleteFunc(slices.Clone(o.Ranges), func(r archive.Range) bool { return r.Timeline != newest })
}

// chooseInterval returns the oldest part of the archive that was not proven yet. While an earlier proof has failed, it is that from its snapshot: from
// another one, the proof would pass beside the damage.
func chooseInterval(ctx context.Context, o state.JobSpec, store objstore.Store, revision int64) (what interval, found bool, err error) {
	what.to = o.Newest
	what.to.Revision = revision
	if what.proofs, err = archive.Proofs(ctx, store, o.ArchiveRoot()); err != nil {
		return what, false, err
	}
	s, err := provableOf(ctx, store, o)
	if err != nil {
		return what, false, err
	}
	failed, err := distrustedPart(ctx, o, store, what.proofs)
	if err != nil {
		return what, false, err
	}
	if failed.key != "" {
		return s.again(ctx, what, failed)
	}
	for _, r := range proofRanges(o, revision) {
		if part, found, err := s.oldest(ctx, what, r, revision); found || err != nil {
			return part, found, err
		}
	}
	return what, false, nil
}

// maxUnread is how many snapshots that the store refuses one proof passes over. It passes over all that the listing names as cold.
const maxUnread = 64

// oldest returns the oldest part of a range that was not proven yet, between two snapshots that can be read.
func (s provable) oldest(ctx context.Context, what interval, r archive.Range, revision int64) (interval, bool, error) {
	for range maxUnread {
		bases, err := s.unproven(ctx, what.proofs, r, min(r.To.Revision, revision))
		if err != nil || len(bases) == 0 {
			return what, false, err
		}
		to, err := furthest(ctx, s.o, s.store, r.Timeline, bases)
		if err != nil {
			return what, false, err
		}
		unread := false
		for _, key := range []string{bases[0].Key, to.Key} {
			cold, err := s.unreadable(ctx, key)
			if err != nil {
				return what, false, err
			}
			unread = unread || cold
		}
		if unread {
			continue // without it
		}
		what.timeline = r.Timeline
		first := what
		if to.Point.Revision < revision {
			first.to = s.shown(to)
		}
		first, found, err := reach(ctx, s.o, s.store, first, bases[:1])
		lost := objstore.Unread(ctx, err) // a segment in the middle, which a survey does not read: newer parts are proven nevertheless
		if !lost && (err != nil || found && (r.Timeline == 0 || first.timeline == r.Timeline)) {
			return first, found, err
		}
		if lost {
			what.unread = err
		}
		return s.newest(ctx, what)
	}
	return what, false, nil
}

// newest begins with the newest snapshot that reaches the later one, because no older one does.
func (s provable) newest(ctx context.Context, what interval) (interval, bool, error) {
	bases, err := s.chosen(ctx, s.items[max(0, len(s.items)-proofBases):])
	if err != nil {
		return what, false, err
	}
	return reach(ctx, s.o, s.store, what, slices.DeleteFunc(bases, func(b archive.Base) bool { return b.Point.Revision >= what.to.Revision }))
}

// reach completes an interval with the way from one of the bases. found is false if there is none. With an error, the interval has the base from
// which the proof fails, so that the failure can be recorded.
func reach(ctx context.Context, o state.JobSpec, store objstore.Store, what interval, bases []archive.Base) (interval, bool, error) {
	if len(bases) == 0 {
		return what, false, nil
	}
	choice, err := archive.Find(ctx, store, o.ArchiveRoot(), bases, archive.Progress{}, archive.Target{Revision: what.to.Revision})
	switch {
	case archive.IsRefusal(err):
		return what, false, nil
	case err == nil, choice.Timeline > 0:
		what.choice, what.timeline = choice, choice.Timeline
	default:
		what.choice.Base = bases[len(bases)-1]
	}
	return what, err == nil, err
}

// furthest returns the base up to which one proof rolls the first of them forward.
func furthest(ctx context.Context, o state.JobSpec, store objstore.Store, t archive.Timeline, bases []archive.Base) (archive.Base, error) {
	first, last := bases[0], bases[len(bases)-1]
	later := slices.DeleteFunc(slices.Clone(bases), func(b archive.Base) bool { return b.Point.Revision == first.Point.Revision })
	if len(later) < 2 {
		return last, nil
	}
	to := later[0]
	if t == 0 {
		return to, nil
	}
	names, release, err := archive.Near(ctx, store, o.ArchiveRoot(), t, first.Point.Revision)
	if err != nil {
		return last, err
	}
	defer release()
	for _, b := range later {
		if names.Between(first.Point.Revision, b.Point.Revision) <= proofLinks {
			to = b
		}
	}
	return to, nil
}

// again repeats a failed proof. It ends where that one ended, because the newest snapshot may be too many segments later when a user has repaired
// the archive. Later parts follow.
func (s provable) again(ctx context.Context, what interval, failed distrusted) (interval, bool, error) {
	what.repeated, what.timeline = true, failed.timeline
	at := slices.IndexFunc(s.items, func(i catalog.Item) bool { return i.Key == failed.key })
	if at < 0 {
		return what, false, errStillFailed
	}
	bases, err := s.bases(ctx, s.items[at:at+1])
	if err != nil {
		return what, false, err
	}
	if what.to, err = s.endOf(ctx, what.to, failed.to); err != nil {
		return what, false, err
	}
	what, found, err := reach(ctx, s.o, s.store, what, slices.DeleteFunc(bases, func(b archive.Base) bool { return b.Point.Revision >= what.to.Revision }))
	if err == nil && !found || errors.Is(err, archive.ErrTooManyLinks) {
		err = errStillFailed
	}
	return what, found, err
}
