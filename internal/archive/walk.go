package archive

import (
	"cmp"
	"context"
	"fmt"
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
