package archive

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
)

// begin reads the start of the timeline. A listing may omit it. It returns false if it does not exist, or if the store does not return it: then
// f.unread is why.
func (f *finder) begin(ctx context.Context, names Names, later []Start) (started bool, err error) {
	f.start, err = ReadStart(ctx, f.store, f.root, names.Timeline)
	if !names.Started && errors.Is(err, fs.ErrNotExist) {
		f.start = Start{Timeline: names.Timeline}
		return false, nil
	}
	if err != nil && passes(ctx, err) {
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
	if err := f.dropLater(ctx); err != nil {
		return History{}, Choice{}, err
	}
	h, from, found, err := f.find(ctx)
	if errors.Is(err, fs.ErrPermission) && slices.ContainsFunc(names.Links, isCold) { // they may be in between, as missing ones may
		all := f.keys
		f.keys = slices.DeleteFunc(slices.Clone(all), isCold)
		h, from, found, err = f.find(ctx)
		f.keys = all
	}
	if err != nil || !found {
		return h, Choice{}, err
	}
	choice, _ := h.choose([]Base{from}, f.target)
	return h, choice, nil
}

// dropLater drops the bases after the last link if it is not known when a newer timeline began: they may be of that one.
func (f *finder) dropLater(ctx context.Context) error {
	n := len(f.keys)
	if !f.undated || n == 0 {
		return nil
	}
	last, err := f.header(ctx, f.keys[n-1])
	switch {
	case errors.Is(err, fs.ErrPermission):
		f.bases = nil
	case err != nil:
		return err
	default:
		f.bases = slices.DeleteFunc(f.bases, func(b Base) bool { return b.Point.At.After(last.To().At) })
	}
	return nil
}

// ends reports whether a timeline from which the target cannot be restored ends the search. Older timelines have other data at the target. For a
// time it always does, because an older timeline was not the history of the cluster at that time. For a revision it does if it had that one. Without
// a start, it is not known where it began. Without any base of its cluster, nothing can be restored from it, so a revision after its end counts, too.
func (f *finder) ends(ctx context.Context, started bool, bases []Base) (bool, error) {
	switch {
	case f.target.Revision == 0 && f.unread != nil:
		return f.beganBefore(ctx)
	case f.target.Revision == 0:
		return started, nil
	case started && f.start.Base.Revision > f.target.Revision:
		return false, nil
	case started && !ofCluster(f.start.ClusterID, bases), started && f.start.Base.Revision == f.target.Revision:
		return true, nil
	case f.progress != nil && f.progress.Revision >= f.target.Revision, went(f.bases, f.target.Revision), f.evidence.went(f.start, f.next, f.target.Revision):
		return true, nil
	}
	return f.reachesEnd(ctx)
}

// beganBefore reports whether the first link of a timeline whose start cannot be read was begun at the time of the target, or before it.
func (f *finder) beganBefore(ctx context.Context) (bool, error) {
	if len(f.keys) == 0 {
		return false, nil
	}
	first, err := f.header(ctx, f.keys[0])
	if errors.Is(err, fs.ErrPermission) {
		return true, nil
	}
	return err == nil && !first.From().At.After(f.target.Time), err
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
	if errors.Is(err, fs.ErrPermission) {
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
