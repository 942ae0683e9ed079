package archive

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// begin reads the start of the timeline. A listing may omit it. It returns false if it does not exist, or if the store does not return it: then
// f.unread is why.
func (f *finder) begin(ctx context.Context, names Names, later []Start) (started bool, err error) {
	f.start, err = ReadStart(ctx, f.store, f.root, names.Timeline)
	if !names.Started && errors.Is(err, fs.ErrNotExist) && !objstore.Refused(err) {
		f.start = Start{Timeline: names.Timeline}
		return false, nil
	}
	if objstore.Unread(ctx, err) {
		f.start, f.unread = Start{Timeline: names.Timeline}, err
		return false, nil
	}
	f.next = f.start.next(later)
	err = cmp.Or(err, f.held.add(f.start.size))
	return err == nil, err
}

// choose returns how to reach the target in this timeline. The choice has no timeline if that is impossible.
func (f *finder) choose(ctx context.Context, names Names, bases []Base) (History, Choice, error) {
	f.bases = f.start.own(f.next, bases)
	if err := f.dropLater(ctx, names); err != nil {
		return History{}, Choice{}, err
	}
	all := f.keys
	defer func() { f.keys = all }()
	h, from, found, err := f.find(ctx)
	for passed := 0; passed < MaxHoles && f.passOver(ctx, err); passed++ {
		h, from, found, err = f.find(ctx)
	}
	if err != nil {
		return h, Choice{Timeline: f.start.Timeline, Base: from}, err
	}
	if !found {
		return h, Choice{}, nil
	}
	choice, _ := h.choose([]Base{from}, f.target)
	return h, choice, nil
}

// passOver removes a link that cannot be read, as if it were missing. The store returned the start, so it returns other objects. If the listing says
// so of one link, it removes all of these. It reports false for any other error.
func (f *finder) passOver(ctx context.Context, err error) bool {
	var of *linkError
	if !errors.As(err, &of) || !objstore.Unread(ctx, err) {
		return false
	}
	link, _ := ParseKey(f.root, of.key)
	at := slices.IndexFunc(f.keys, link.is)
	if at < 0 {
		return false
	}
	if f.keys[at].cold {
		f.keys = slices.DeleteFunc(slices.Clone(f.keys), isCold)
		return true
	}
	f.skipped = cmp.Or(f.skipped, err)
	f.keys = slices.Delete(slices.Clone(f.keys), at, at+1)
	return true
}

// dropLater drops the bases that may be of a newer timeline, if it is not known when that one began.
func (f *finder) dropLater(ctx context.Context, names Names) error {
	if !f.undated {
		return nil
	}
	var last *Header
	if n := len(f.keys); n > 0 {
		switch h, err := f.header(ctx, f.keys[n-1]); {
		case err == nil:
			last = &h
		case !objstore.Unread(ctx, err):
			return err
		}
	}
	f.bases = names.sure(f.start, f.bases, f.since, last)
	return nil
}

// sure returns the bases that surely are of the timeline, if the start of a newer one is missing or cannot be read: the base that began the timeline,
// and those that the store had received before its last link, and before that start. Both are times by the clock of the store. The clock of the
// operator may have been ahead, so its times only exclude further bases. last is the last link; nil if it cannot be read.
func (n Names) sure(s Start, own []Base, since time.Time, last *Header) []Base {
	return slices.DeleteFunc(slices.Clone(own), func(b Base) bool {
		switch {
		case s.began(b):
			return false
		case b.Stored.IsZero(), !b.Stored.Before(n.Stored), !since.IsZero() && !b.Stored.Before(since):
			return true
		}
		return last != nil && b.Point.At.After(last.To().At)
	})
}

// ends reports whether a timeline from which the target cannot be restored ends the search. Older timelines have other data at the target. For a
// time it always does, because an older timeline was not the history of the cluster at that time. For a revision it does if it had that one. Without
// a start, it is not known where it began. Without any base of its cluster, nothing can be restored from it, so a revision after its end counts, too.
func (f *finder) ends(ctx context.Context, names Names, started bool, bases []Base) (bool, error) {
	switch {
	case f.target.Revision == 0 && f.unread != nil:
		return f.beganBefore(ctx, names)
	case f.target.Revision == 0:
		f.skipped = cmp.Or(f.skipped, f.unended)
		return started, nil
	case started && f.start.Base.Revision > f.target.Revision:
		return false, nil
	case f.unread != nil && len(f.keys) == 0 && names.Begun.IsZero():
		return true, nil // the listing omits all of it
	case f.unended != nil:
		f.skipped = cmp.Or(f.skipped, f.unended)
		return true, nil //nolint:nilerr // a caller finds it in skipped
	case !started && f.evidence.startless(names) >= f.target.Revision:
		return true, nil
	case started && !ofCluster(f.start.ClusterID, bases), started && f.start.Base.Revision == f.target.Revision:
		return true, nil
	case f.progress != nil && f.progress.Revision >= f.target.Revision, went(f.bases, f.target.Revision), f.evidence.went(f.start, f.next, f.target.Revision):
		return true, nil
	}
	return f.reachesEnd(ctx)
}

// beganBefore reports whether a timeline whose start cannot be read began at the time of the target, or before it: the store had its start, or the
// archiver had the first link. It is assumed if neither is known.
func (f *finder) beganBefore(ctx context.Context, names Names) (bool, error) {
	if !names.Begun.IsZero() && !names.Begun.After(f.target.Time) {
		return true, nil
	}
	if len(f.keys) == 0 {
		return names.Begun.IsZero(), nil
	}
	first, err := f.header(ctx, f.keys[0])
	if f.unknown(ctx, f.keys[0], err) {
		return true, nil
	}
	return err == nil && !first.From().At.After(f.target.Time), err
}

// unknown reports whether a link cannot be read, so that it may have the target.
func (f *finder) unknown(ctx context.Context, link Name, err error) bool {
	if !objstore.Unread(ctx, err) {
		return false
	}
	if !link.cold {
		f.skipped = cmp.Or(f.skipped, err)
	}
	return true
}

// went reports whether a base of a timeline shows that it had a revision, although no link of it has that one: the link is missing, or a listing
// omits it.
func went(own []Base, revision int64) bool {
	return slices.ContainsFunc(own, func(b Base) bool { return b.Point.Revision >= revision })
}

// reachesEnd reports whether the last link is not before the revision of the target. It may be in a storage class that cannot be read.
func (f *finder) reachesEnd(ctx context.Context) (bool, error) {
	n := len(f.keys)
	if n == 0 {
		return false, nil
	}
	if f.keys[n-1].first >= f.target.Revision {
		return true, nil
	}
	last, err := f.header(ctx, f.keys[n-1])
	if f.unknown(ctx, f.keys[n-1], err) {
		return true, nil
	}
	return err == nil && last.Last >= f.target.Revision, err
}

// had is ends for a timeline whose links are all known.
func (h History) had(revision int64, bases []Base, e evidence) bool {
	switch {
	case h.Start.Base.Revision > revision:
		return false
	case !ofCluster(h.Start.ClusterID, bases):
		return e.has(h.Start.ClusterID)
	}
	n := len(h.Links)
	return h.Start.Base.Revision == revision || went(h.Start.own(h.next, bases), revision) || e.went(h.Start, h.next, revision) ||
		n > 0 && h.Links[n-1].Header.Last >= revision
}

// hides reports whether a timeline after t, or a later cluster, had a revision, so that a restore never takes the one of t.
func hides(histories []History, bases []Base, e evidence, t Timeline, revision int64) bool {
	return slices.ContainsFunc(histories, func(h History) bool {
		if h.Start.Timeline == t {
			return hidden(h.Start.hiddenBy(e), revision)
		}
		return h.Start.Timeline > t && h.had(revision, bases, e)
	})
}

func startsOf(histories []History) []Start {
	starts := make([]Start, len(histories))
	for i, h := range histories {
		starts[i] = h.Start
	}
	return starts
}
