package archive

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Survey is an archive as its keys and a few headers describe it.
type Survey struct {
	Names  []Names
	Starts []Start // of the same timelines
	// Ranges that can be restored, oldest first. They are the newest ones if there are more than the limit.
	Ranges []Range
	// Unbroken is that of the end of the newest timeline: without a base from there on, its newest revisions cannot be
	// restored.
	Unbroken int64
	// Covered reports whether there is such a base.
	Covered bool
}

// Look lists an archive and reads the headers that its ranges need: about two for each range.
func Look(ctx context.Context, store objstore.Store, root string, bases []Base, limit int) (Survey, error) {
	var s Survey
	var err error
	if s.Names, err = List(ctx, store, root); err != nil {
		return s, err
	}
	s.Starts = make([]Start, len(s.Names))
	for i, names := range s.Names {
		if s.Starts[i], err = ReadStart(ctx, store, root, names.Timeline); err != nil {
			return s, err
		}
	}
	for i := len(s.Names) - 1; i >= 0 && len(s.Ranges) < limit; i-- {
		t := tracer{store: store, root: root, names: s.Names[i], start: s.Starts[i], bases: s.basesOf(i, bases)}
		if err := t.trace(ctx, limit-len(s.Ranges)); err != nil {
			return s, err
		}
		if i == len(s.Names)-1 {
			s.Unbroken, s.Covered = t.unbroken, t.covered
		}
		s.Ranges = append(s.Ranges, t.ranges...)
	}
	slices.Reverse(s.Ranges)
	return s, nil
}

// basesOf returns the bases of a timeline in ascending order. A base that was taken after the next timeline began is of
// that one.
func (s Survey) basesOf(i int, bases []Base) []Base {
	var of []Base
	for _, b := range bases {
		later := i+1 < len(s.Starts) && s.Starts[i+1].ClusterID == b.ClusterID && !b.Point.At.Before(s.Starts[i+1].Base.At)
		if s.Starts[i].has(b) && !later {
			of = append(of, b)
		}
	}
	sort.SliceStable(of, func(a, b int) bool { return of[a].Point.Revision < of[b].Point.Revision })
	return of
}

// tracer finds the ranges of one timeline, from its end to its start.
type tracer struct {
	store objstore.Getter
	root  string
	names Names
	start Start
	bases []Base

	ranges   []Range // newest first
	unbroken int64   // at the end of the timeline
	covered  bool
}

// end is a point of a chain at which a range may end.
type end struct {
	to       Point
	unbroken int64
	auth     uint64
}

func (t *tracer) trace(ctx context.Context, limit int) error {
	at := end{to: t.start.Base, unbroken: t.start.Base.Revision, auth: t.start.Auth}
	if n := len(t.names.Links); n > 0 {
		h, err := ReadHeader(ctx, t.store, t.root, t.names.Links[n-1])
		if err != nil {
			return err
		}
		at = endOf(h)
	}
	t.unbroken = at.unbroken
	for first := true; ; first = false {
		if r, ok := t.reach(at); ok {
			t.ranges = append(t.ranges, r)
			t.covered = t.covered || first
		}
		next, more, err := t.before(ctx, at)
		if err != nil || !more || len(t.ranges) == limit {
			return err
		}
		at = next
	}
}

func endOf(h Header) end { return end{to: h.To(), unbroken: h.Unbroken, auth: h.AuthTo} }

// reach returns the range that ends here. It begins with the oldest base that reaches this end.
func (t *tracer) reach(at end) (Range, bool) {
	for _, b := range t.bases {
		if b.Point.Revision >= at.unbroken && b.Point.Revision <= at.to.Revision && b.AuthRevision == at.auth {
			return Range{Timeline: t.start.Timeline, From: b.Point, To: at.to}, true
		}
	}
	return Range{}, false
}

// before returns the end of the chain's part before the break at at.unbroken. It returns false if there is none.
func (t *tracer) before(ctx context.Context, at end) (end, bool, error) {
	if at.unbroken <= t.start.Base.Revision {
		return end{}, false, nil
	}
	// The link of that revision is the last one that does not begin after it.
	i := sort.Search(len(t.names.Links), func(i int) bool { return firstOf(t.root, t.names.Links[i]) > at.unbroken }) - 1
	if i < 0 {
		return end{}, false, nil // it was deleted
	}
	h, err := ReadHeader(ctx, t.store, t.root, t.names.Links[i])
	if err != nil {
		return end{}, false, err
	}
	if h.Last != at.unbroken {
		return end{}, false, corruptAt(at.unbroken, t.names.Links[i], "the link ends with revision %d, but a later one says %d", h.Last, at.unbroken)
	}
	if !h.Gap() && h.AuthFrom == h.AuthTo {
		return endOf(h), true, nil
	}
	switch {
	case i > 0:
		h, err = ReadHeader(ctx, t.store, t.root, t.names.Links[i-1])
		if err != nil {
			return end{}, false, fmt.Errorf("read the link before a break: %w", err)
		}
		return endOf(h), true, nil
	case h.First == t.start.Base.Revision+1:
		return end{to: t.start.Base, unbroken: t.start.Base.Revision, auth: t.start.Auth}, true, nil
	}
	return end{}, false, nil
}
