package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// walk is the state of a search from the newest timeline to the oldest one.
type walk struct {
	of       func(clusterID string) bool
	bases    []Base
	progress Progress
	target   Target
	evidence evidence
	held     held
	names    *objstore.Holding // counts those of near

	later  []Start
	passed []History
	// newest is the timeline that ended the search; 0 if none did. unarchived means that a later cluster had the revision.
	newest     Timeline
	unarchived bool
	unread     error // of the first start that cannot be read
	// undated means that the start of a newer timeline is missing or cannot be read, so it is not known when that one began. since is when the
	// store received the oldest of these starts; zero if no listing has one.
	undated bool
	since   time.Time
}

// refusal returns why no timeline has the target. While a start cannot be read, that is not known: its timeline may have the target.
func (w *walk) refusal() error {
	if w.unread != nil {
		return fmt.Errorf("%s is not in the timelines that can be read: %w", w.target, w.unread)
	}
	refusal := refuse(w.passed, w.bases, w.evidence.only(w.of), w.target)
	if w.unarchived {
		return refusal.unarchived()
	}
	return refusal.after(w.newest)
}

// timeline searches one timeline. If it has the target, the choice has a timeline. ends means that no older one is searched.
func (w *walk) timeline(ctx context.Context, store objstore.Store, root string, names Names, older []Names) (choice Choice, ends bool, err error) {
	f := finder{store: store, root: root, keys: names.Links, headers: map[string]Header{}, held: &w.held, target: w.target, evidence: w.evidence, undated: w.undated, since: w.since}
	started, err := w.begin(ctx, &f, names)
	if err != nil {
		return Choice{}, false, err
	}
	if started && w.skips(f.start, len(older)) {
		return Choice{}, false, nil
	}
	if started && w.uncertain(names) {
		w.newest = names.Timeline
		return Choice{}, true, nil
	}
	w.evidence = w.evidence.with(w.later)
	if w.unarchived, err = f.hidden(ctx, older, w.evidence, w.of); err != nil || w.unarchived {
		return Choice{}, true, err
	}
	if w.progress.Timeline == names.Timeline {
		f.progress = &w.progress.Point
	}
	if names.Omitted > 0 {
		if err = f.near(ctx, names.Timeline, w.names); err != nil {
			return Choice{}, false, err
		}
	}
	return w.within(ctx, &f, names, started)
}

// begin reads the start of a timeline into the finder, and notes in the walk what it says about older timelines. started is false if no start
// can be read.
func (w *walk) begin(ctx context.Context, f *finder, names Names) (started bool, err error) {
	if started, err = f.begin(ctx, names, w.later); err != nil {
		return false, err
	}
	w.unread = cmp.Or(w.unread, f.unread)
	if started {
		w.later = append([]Start{f.start}, w.later...)
	} else {
		w.undated, w.since = true, Earlier(w.since, names.Begun)
	}
	return started, nil
}

// skips reports whether a timeline cannot have the target, because it is of another cluster, or because it began later and an older one exists.
func (w *walk) skips(start Start, older int) bool {
	return !w.of(start.ClusterID) || w.target.Revision == 0 && start.Base.At.After(w.target.Time) && older > 0
}

// uncertain reports whether a newer timeline, whose start is gone, may have the time of the target: the clock may have been ahead in this one.
func (w *walk) uncertain(names Names) bool {
	return w.undated && w.target.Revision == 0 && !names.Stored.IsZero() && w.target.Time.After(names.Stored)
}

// within searches the links of a timeline.
func (w *walk) within(ctx context.Context, f *finder, names Names, started bool) (choice Choice, ends bool, err error) {
	if err := f.extend(ctx); err != nil {
		return Choice{}, false, err
	}
	if started {
		h, choice, err := f.choose(ctx, names, w.bases)
		if err != nil || choice.Timeline > 0 {
			return choice, true, err
		}
		w.passed = append([]History{h}, w.passed...)
	}
	ends, err = f.ends(ctx, names, started, w.bases)
	if err == nil && ends && f.skipped != nil {
		err = fmt.Errorf("%s may be in what the store does not return: %w", w.target, f.skipped)
	}
	if ends {
		w.newest = names.Timeline
	}
	return Choice{}, ends, err
}

// A day may have more links than are held, and the key of a link has no more of its time than the day. Then some of the links are held, and the
// headers of a few of these show which revisions are near the time.

// near reads the names of the links around the target.
func (f *finder) near(ctx context.Context, t Timeline, memory *objstore.Holding) (err error) {
	f.keys, err = near(ctx, f.store, f.root, t, f.target, memory)
	if f.target.Revision > 0 || !errors.Is(err, objstore.ErrListing) {
		return err
	}
	revision, err := f.revisionNear(ctx, t, memory)
	if err != nil {
		return err
	}
	f.keys, err = near(ctx, f.store, f.root, t, Target{Revision: revision}, memory)
	return err
}

// revisionNear returns a revision near the time of the target: fewer links are between both than near holds on each side.
func (f *finder) revisionNear(ctx context.Context, t Timeline, memory *objstore.Holding) (int64, error) {
	memory.Release()
	some := sample{}
	l := lister{root: f.root, most: maxNames, memory: memory, trim: some.thin, wanted: some.has}
	all, err := l.list(ctx, f.store, t.Prefix(f.root))
	if err != nil || len(all) == 0 {
		return 0, wrapTimeline(t, err)
	}
	links := slices.DeleteFunc(all[0].Links, isCold)
	var failed error
	at := sort.Search(len(links), func(i int) bool {
		if failed != nil {
			return true
		}
		var h Header
		h, failed = f.header(ctx, links[i])
		return failed != nil || h.To().At.After(f.target.Time)
	})
	if failed != nil || len(links) == 0 {
		return 1, failed
	}
	return links[min(at, len(links)-1)].first, nil
}

// sample is one link of about 2 to the power of bits. They are spread evenly, whatever revisions the links begin with.
type sample struct{ bits int }

func (s *sample) has(n Name) bool {
	const golden = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio spreads numbers in a row
	return uint64(n.first)*golden>>(64-s.bits) == 0
}

// thin halves the sample until at most half of the names that are held are left.
func (s *sample) thin(all []Names) {
	for left := maxNames; left > maxNames/2 && s.bits < 63; {
		s.bits++
		left = 0
		for i := range all {
			all[i].Links = slices.DeleteFunc(all[i].Links, func(n Name) bool { return !s.has(n) })
			left += len(all[i].Links)
		}
	}
}

// Find is FindOf for the timelines of the clusters that the snapshots are of.
func Find(ctx context.Context, store objstore.Store, root string, bases []Base, progress Progress, target Target, seen ...Seen) (Choice, error) {
	return FindOf(ctx, store, root, evidenceOf(nil, bases, seen).has, bases, seen, progress, target)
}

// FindOf is Select for an archive in a store. It lists all keys, but reads few headers: those of the links from the base to the
// target, and one for each step of a search by time. Only for a refusal it reads on, up to the next base. The zero Progress
// means that it is not known. of reports whether a timeline with a cluster ID counts. Such a timeline ends the search if it had the target,
// even if no base of it can be used: older timelines have other data there. seen are all snapshots that are listed, even those that can be no bases:
// they show which revisions a later cluster had. With an error of a link, the choice has the timeline and the base of the part that has the link.
func FindOf(ctx context.Context, store objstore.Store, root string, of func(clusterID string) bool, bases []Base, seen []Seen, progress Progress, target Target) (Choice, error) {
	all, release, err := listNewer(ctx, store, root, progress)
	if err != nil {
		return Choice{}, err
	}
	defer release()
	if len(all) == 0 {
		return Choice{}, &Refusal{Target: target, Reason: "the archive is empty"}
	}
	w := walk{of: of, bases: bases, progress: progress, target: target, evidence: evidenceOf(nil, bases, seen), held: held{in: objstore.HoldingOf(ctx)}, names: objstore.HoldingOf(ctx).Beside()}
	defer w.names.Release()
	for i, names := range slices.Backward(all) {
		choice, ends, err := w.timeline(ctx, store, root, names, all[:i])
		if err != nil || choice.Timeline > 0 {
			return choice, err
		}
		if ends {
			break
		}
	}
	return Choice{}, w.refusal()
}
