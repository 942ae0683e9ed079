package archive

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Covers reports whether a replay from a base reaches the end of the newest timeline.
func (s Survey) Covers(b Base) bool {
	return s.end.follows(b) && slices.ContainsFunc(s.bases, func(own Base) bool { return own.Key == b.Key })
}

// NewestBase returns the revision of the newest base of the newest timeline. If the timeline has no base, it returns the revision at which the
// timeline begins.
func (s Survey) NewestBase() int64 {
	if n := len(s.bases); n > 0 {
		return s.bases[n-1].Point.Revision
	}
	if n := len(s.Starts); n > 0 {
		return s.Starts[n-1].Base.Revision
	}
	return 0
}

// Drop releases the names and the starts, which grow with the archive. The caller calls it as soon as it needs them no more.
func (s *Survey) Drop() {
	if s.release != nil {
		s.release()
	}
	s.Names, s.Starts, s.Startless, s.Unreadable, s.ColdBases, s.newer, s.others = nil, nil, nil, nil, nil, nil, nil
	s.evidence = evidence{}
}

// Omitted returns how many links the survey does not have, because the archive has more names than are held. They are the oldest ones.
func (s Survey) Omitted() (links int) {
	for _, names := range s.Names {
		links += names.Omitted
	}
	return links
}

// Look lists an archive and reads the headers that its ranges need: about two for each range. seen are snapshots that can be no bases. The
// caller calls Drop.
func Look(ctx context.Context, store objstore.Store, root string, bases []Base, limit int, seen ...Seen) (Survey, error) {
	return LookAgain(ctx, store, root, nil, bases, limit, seen...)
}

// LookAgain is Look, and asks for segments that the store did not return before. It reads too few headers to find them itself.
func LookAgain(ctx context.Context, store objstore.Store, root string, suspects []string, bases []Base, limit int, seen ...Seen) (Survey, error) {
	all, release, err := listPart(ctx, store, root, newestLinks)
	if err != nil {
		return Survey{}, err
	}
	s, err := look(ctx, store, root, all, suspects, bases, limit, seen)
	if s.release = release; err != nil {
		s.Drop()
	}
	return s, err
}

func look(ctx context.Context, store objstore.Store, root string, all []Names, suspects []string, bases []Base, limit int, seen []Seen) (s Survey, err error) {
	if s.Names, err = provenStarts(ctx, store, root, all); err != nil {
		return s, err
	}
	reading := &surveyor{store: store, root: root, read: map[string]Header{}, failed: map[string]error{}, memory: objstore.HoldingOf(ctx).Beside()}
	defer reading.memory.Release()
	if err = s.readStarts(ctx, reading); err != nil {
		return s, err
	}
	s.evidence = evidenceOf(s.Starts, bases, seen)
	if err = s.ask(ctx, reading, suspects); err != nil {
		return s, err
	}
	for {
		surveyed, err := s.survey(ctx, reading, bases, limit)
		if err == nil || !s.passOver(ctx, reading, err) {
			return surveyed, err
		}
	}
}

// survey reads the headers of all timelines.
func (s Survey) survey(ctx context.Context, reading *surveyor, bases []Base, limit int) (Survey, error) {
	reading.holes = nil
	undated, since := false, time.Time{}
	for i := len(s.Names) - 1; i >= 0 && len(s.Ranges) < limit; i-- {
		own := s.Starts[i].own(s.Starts[i].next(s.Starts[i+1:]), bases)
		if !s.Names[i].Started {
			undated, since = true, Earlier(since, s.Names[i].Begun)
		} else if undated {
			own = s.Names[i].sure(s.Starts[i], own, since, reading.last(ctx, s.Names[i]))
		}
		s.others = s.Starts[i].hiddenBy(s.evidence)
		if s.Names[i].Started {
			if err := s.timeline(ctx, reading, i, own, limit); err != nil {
				return s, err
			}
		}
		s.hide(ctx, reading, i, bases, own)
	}
	s.Holes = reading.holes
	slices.Reverse(s.Holes)
	slices.Reverse(s.Ranges)
	return s, nil
}

// timeline adds the ranges of one timeline, newest first.
func (s *Survey) timeline(ctx context.Context, reading *surveyor, i int, own []Base, limit int) error {
	if err := reading.readable(ctx, &s.Names[i]); err != nil {
		return err
	}
	parts, err := reading.sections(ctx, s.Names[i])
	if err != nil {
		return err
	}
	if newest := i == len(s.Names)-1; newest && len(parts) > 0 {
		s.Unbroken = parts[0].until // unless the end can be read
	}
	for _, part := range parts {
		if len(s.Ranges) >= limit {
			break
		}
		t := tracer{surveyor: reading, links: part.links, start: s.Starts[i], bases: part.reached(own)}
		if err := t.trace(ctx, limit-len(s.Ranges), part.until == 0); err != nil {
			return err
		}
		if i == len(s.Names)-1 && part.until == 0 {
			s.Unbroken, s.Covered, s.Following, s.end, s.bases = t.end.unbroken, t.covered, t.following(), t.end, t.bases
		}
		for _, r := range t.ranges {
			s.Ranges = append(s.Ranges, r.hiding(slices.Concat(s.newer, s.others)))
		}
	}
	return nil
}

// last returns the last link of a timeline, and nil if there is none, or if it cannot be read.
func (s *surveyor) last(ctx context.Context, names Names) *Header {
	n := len(names.Links)
	if n == 0 {
		return nil
	}
	h, err := s.header(ctx, names.Links[n-1])
	if err != nil {
		return nil
	}
	return &h
}

// hide records what a timeline had. Of one without a start, it is not known where it began.
func (s *Survey) hide(ctx context.Context, reading *surveyor, i int, bases, own []Base) {
	last := int64(0)
	if h := reading.last(ctx, s.Names[i]); h != nil {
		last = h.Last
	} else if len(s.Names[i].Links) > 0 {
		last = unknownEnd
	}
	unlisted := last == 0 && s.Names[i].Begun.IsZero()
	had, counts := s.Starts[i].hides(s.evidence, s.Starts[i].next(s.Starts[i+1:]), bases, own, last)
	switch {
	case !s.Names[i].Started && unlisted: // the store refuses to return its start
		had, counts = Revisions{1, unknownEnd}, true
	case !s.Names[i].Started:
		had, counts = Revisions{1, max(last, s.evidence.startless(s.Names[i]))}, true
	}
	if counts {
		s.newer = append(s.newer, had)
	}
}

// reached returns the bases that a link of the section can follow, and that are not after it. The links after an earlier one were deleted,
// because they were older than the window, or a hole is before the section. After a hole, the base must be in the section: nothing else shows that
// it is of the same history.
func (p section) reached(own []Base) []Base {
	first := int64(0)
	if len(p.links) > 0 {
		first = p.links[0].first - 1
	}
	if p.after {
		first++
	}
	return slices.DeleteFunc(slices.Clone(own), func(b Base) bool {
		return b.Point.Revision < first || p.until > 0 && b.Point.Revision > p.until
	})
}

// tracer finds the ranges of one section of a timeline, from its end to its start.
type tracer struct {
	*surveyor
	links []Name
	start Start
	bases []Base

	ranges  []Range // newest first
	end     end     // of the timeline
	covered bool
}

func (t *tracer) trace(ctx context.Context, limit int, last bool) error {
	at := end{to: t.start.Base, unbroken: t.start.Base.Revision, auth: t.start.Auth()}
	if n := len(t.links); n > 0 {
		h, err := t.header(ctx, t.links[n-1])
		if err != nil {
			return err
		}
		at = endOf(h)
		t.bases = slices.DeleteFunc(t.bases, func(b Base) bool { return t.start.foreign(b, h) })
	}
	at.last = last
	t.end = at
	for first := true; ; first = false {
		ranges, complete, err := t.reach(ctx, at)
		if err != nil {
			return err
		}
		t.ranges = append(t.ranges, ranges...)
		t.covered = t.covered || first && complete
		next, more, err := t.before(ctx, at)
		if err != nil || !more || len(t.ranges) >= limit {
			t.ranges = t.ranges[:min(len(t.ranges), limit)]
			return err
		}
		at = next
	}
}

// following returns how many links begin after the newest base.
func (t *tracer) following() int {
	links := t.links
	if len(t.bases) == 0 {
		return len(links)
	}
	return len(links) - 1 - t.holding(t.bases[len(t.bases)-1].Point.Revision)
}

func endOf(h Header) end {
	_, at := h.Auth()
	return end{to: h.To(), unbroken: h.Unbroken, auth: at}
}

// reach returns the range that ends here, from the oldest base that reaches this end. There are several, newest first, if more than MaxLinks
// links follow a base before the next one: a restore refuses the last of these. complete is false if it refuses the end itself.
func (t *tracer) reach(ctx context.Context, at end) (ranges []Range, complete bool, err error) {
	bases := slices.DeleteFunc(slices.Clone(t.bases), func(b Base) bool { return !at.follows(b) })
	for i, b := range bases {
		if !complete {
			to := at.to
			if b.Point.Revision == to.Revision && b.Point.At.After(to.At) {
				to = b.Point
			}
			ranges = append([]Range{{Timeline: t.start.Timeline, From: b.Point, To: to, Lost: t.start.Lost}}, ranges...)
		}
		next := at.to.Revision
		if i+1 < len(bases) {
			next = bases[i+1].Point.Revision
		}
		last := max(t.holding(b.Point.Revision), 0) + MaxLinks - 1
		if complete = t.holding(next) <= last; !complete {
			h, err := t.header(ctx, t.links[last])
			if err != nil {
				return nil, false, err
			}
			ranges[0].To = h.To()
		}
	}
	return ranges, complete, nil
}

// holding returns the index of the last link that does not begin after a revision, and -1 if there is none.
func (t *tracer) holding(revision int64) int {
	return sort.Search(len(t.links), func(i int) bool { return t.links[i].first > revision }) - 1
}

// before returns the end of the chain's part before the break at at.unbroken. It returns false if there is none. The break is the link that ends
// there, or it follows that link or the start: then users, roles or authentication changed between them and the next event.
func (t *tracer) before(ctx context.Context, at end) (end, bool, error) {
	start := end{to: t.start.Base, unbroken: t.start.Base.Revision, auth: t.start.Auth()}
	if at.unbroken <= start.to.Revision {
		return start, start.changes(at), nil
	}
	// The link of that revision is the last one that does not begin after it.
	i := t.holding(at.unbroken)
	if i < 0 {
		return end{}, false, nil // it was deleted
	}
	h, err := t.header(ctx, t.links[i])
	if err != nil {
		return end{}, false, err
	}
	if h.Last != at.unbroken {
		return end{}, false, corruptAt(at.unbroken, t.links[i].Key(t.root), "the link ends with revision %d, but a later one says %d", h.Last, at.unbroken)
	}
	if before := endOf(h); before.unbroken < h.Last || before.changes(at) {
		return before, true, nil
	}
	if i > 0 {
		h, err = t.header(ctx, t.links[i-1])
		if err != nil {
			return end{}, false, fmt.Errorf("read the link before a break: %w", err)
		}
		return endOf(h), true, nil
	}
	return start, h.First == start.to.Revision+1, nil
}
