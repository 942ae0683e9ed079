package archive

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/auth"
)

// Base is a snapshot that a replay can begin with.
type Base struct {
	Key       string
	ClusterID string // 16 hex digits
	// Point is the revision in the snapshot's database, and a time before which that revision was written.
	Point Point
	// Captured means that Point has the time at which the member began to send, and not a later one.
	Captured bool
	// Stored is when the store received it, by the clock of the store. It is zero if that is not known.
	Stored time.Time
	// Auth is the state of authentication in the snapshot's database.
	Auth auth.State
	// Recovery is that of the cluster when the snapshot was taken, see Start.Recovery. It is empty if there was none, or if that is not known.
	Recovery string
}

// Target is what a restore asks for: a revision, or the state at a time.
type Target struct {
	Revision int64
	Time     time.Time // if Revision is 0
}

func (t Target) String() string {
	if t.Revision > 0 {
		return fmt.Sprintf("revision %d", t.Revision)
	}
	return t.Time.UTC().Format(time.RFC3339Nano)
}

// Choice is how to reach a target.
type Choice struct {
	Timeline Timeline
	Base     Base
	// Links to replay after the base, in order. There are none if the base is the target.
	Links []Link
	// Chain is what the first link must follow.
	Chain Chain
	// Reached is the point that is restored. For a time it is the last one that the archive has up to that time.
	Reached Point
	// Resolution is how much later the next revision may have been written: changes between Reached and that are not
	// restored. It is 0 for a revision.
	Resolution time.Duration
}

// Range is a part of a timeline in which each revision can be restored.
type Range struct {
	Timeline Timeline
	From, To Point
	// Lost is that of the timeline, see Start.
	Lost bool
	// Hidden are those of its revisions that newer timelines had, so that only a time restores them from this one. They are in ascending order.
	Hidden []Revisions
}

// Refusal means that a target cannot be restored.
type Refusal struct {
	Target Target
	Reason string
	// Before and After are the nearest points that can be restored; nil if there is none.
	Before, After *Point
	// Newest is the timeline that ended the search for a revision: it began at or before that one. It is 0 if there is none, or for a time.
	Newest Timeline
	// Unarchived: a later cluster had the revision, and the archive does not have that one.
	Unarchived bool
	// Way is what a person can do, in place of the advice for an archive. It is empty for that.
	Way string
}

// after adds the timeline that ended the search.
func (r *Refusal) after(newest Timeline) *Refusal {
	if r.Target.Revision > 0 {
		r.Newest = newest
	}
	return r
}

func (r *Refusal) unarchived() *Refusal {
	r.Unarchived = true
	return r
}

// Ended reports whether something newer ended the search, although an older timeline has a revision of that number.
func (r *Refusal) Ended() bool { return r.Newest > 0 || r.Unarchived }

func (r *Refusal) Error() string {
	text := fmt.Sprintf("%s cannot be restored: %s", r.Target, r.Reason)
	if r.Newest > 0 {
		text += fmt.Sprintf(". Timeline %d began before that. Older timelines have other data at this revision, so they are not used", r.Newest)
	}
	if r.Unarchived {
		text += ". Snapshots show that a later cluster had this revision, and it was not archived. Older timelines have other data at it, so they are not used"
	}
	switch {
	case r.Way != "":
		return text + ". " + r.Way
	case r.Before != nil && r.After != nil:
		return fmt.Sprintf("%s. Choose %s or before, or %s or after", text, r.Before, r.After)
	case r.Before != nil:
		return fmt.Sprintf("%s. Choose %s or before", text, r.Before)
	case r.After != nil:
		return fmt.Sprintf("%s. Choose %s or after", text, r.After)
	}
	if r.Unarchived {
		return text
	}
	if r.Newest > 0 {
		return text + ". No snapshot can be used as a base of that timeline now"
	}
	return text + ". The archive has no base snapshot: wait for the next one"
}

// span is what one base reaches: links that follow each other, without a gap and without a change of authentication.
type span struct {
	base  Base
	chain Chain // before the first link
	links []Link
	to    Point
	times []Point // in ascending order
}

// Recoverable returns all ranges, oldest timeline first. seen are snapshots that can be no bases.
func Recoverable(histories []History, bases []Base, seen ...Seen) []Range {
	return recoverable(histories, bases, evidenceOf(startsOf(histories), bases, seen))
}

func recoverable(histories []History, bases []Base, e evidence) []Range {
	var ranges []Range
	histories = linked(histories)
	for _, h := range histories {
		for _, s := range h.spans(bases) {
			n := len(ranges)
			if n > 0 && ranges[n-1].Timeline == h.Start.Timeline && s.base.Point.Revision <= ranges[n-1].To.Revision {
				if s.to.Revision >= ranges[n-1].To.Revision {
					ranges[n-1].To = s.to
				}
				continue
			}
			ranges = append(ranges, Range{Timeline: h.Start.Timeline, From: s.base.Point, To: s.to, Lost: h.Start.Lost})
		}
	}
	for i, r := range ranges {
		at := slices.IndexFunc(histories, func(h History) bool { return h.Start.Timeline == r.Timeline })
		ranges[i] = r.hiding(append(newerThan(histories, bases, e, r.Timeline), histories[at].Start.hiddenBy(e)...))
	}
	return ranges
}

// newerThan returns the revisions that the timelines after t had.
func newerThan(histories []History, bases []Base, e evidence, t Timeline) (newer []Revisions) {
	for _, h := range histories {
		last := int64(0)
		if n := len(h.Links); n > 0 {
			last = h.Links[n-1].Header.Last
		}
		if had, counts := h.Start.hides(e, h.next, bases, h.Start.own(h.next, bases), last); counts && h.Start.Timeline > t {
			newer = append(newer, had)
		}
	}
	return newer
}

// Select returns how to reach a target, or a *Refusal. A revision is taken from the newest timeline that had it. A time is
// taken from the timeline that was the newest at that time. seen are snapshots that can be no bases.
func Select(histories []History, bases []Base, target Target, seen ...Seen) (Choice, error) {
	if len(histories) == 0 {
		return Choice{}, &Refusal{Target: target, Reason: "the archive is empty"}
	}
	histories = linked(histories)
	e := evidenceOf(startsOf(histories), bases, seen)
	for i := len(histories) - 1; i >= 0; i-- {
		h := histories[i]
		if target.Revision == 0 && h.Start.Base.At.After(target.Time) && i > 0 {
			continue // it began later
		}
		if target.Revision > 0 && hidden(h.Start.hiddenBy(e), target.Revision) {
			return Choice{}, refuse(histories, bases, e, target).unarchived()
		}
		if choice, ok := h.choose(bases, target); ok {
			return choice, nil
		}
		if target.Revision == 0 || h.had(target.Revision, bases, e) {
			return Choice{}, refuse(histories, bases, e, target).after(h.Start.Timeline)
		}
	}
	return Choice{}, refuse(histories, bases, e, target)
}

// choose uses the newest base that reaches the target, because it needs the fewest links.
func (h History) choose(bases []Base, target Target) (Choice, bool) {
	for _, s := range slices.Backward(h.spans(bases)) {
		reached, resolution, ok := s.resolve(target)
		if !ok {
			continue
		}
		choice := Choice{Timeline: h.Start.Timeline, Base: s.base, Chain: s.chain, Reached: reached, Resolution: resolution}
		for _, l := range s.links {
			if reached.Revision > s.base.Point.Revision && l.Header.First <= reached.Revision {
				choice.Links = append(choice.Links, l)
			}
		}
		return choice, true
	}
	return Choice{}, false
}

// resolve returns the point of a target in a span.
func (s span) resolve(target Target) (reached Point, resolution time.Duration, ok bool) {
	if target.Revision > 0 {
		if target.Revision < s.base.Point.Revision || target.Revision > s.to.Revision {
			return Point{}, 0, false
		}
		for _, p := range s.times {
			if p.Revision >= target.Revision {
				return Point{Revision: target.Revision, At: p.At}, 0, true
			}
		}
		return Point{}, 0, false
	}
	if target.Time.Before(s.base.Point.At) || target.Time.After(s.to.At) {
		return Point{}, 0, false
	}
	for i, p := range s.times {
		if p.At.After(target.Time) {
			return reached, p.At.Sub(s.times[i-1].At), true
		}
		reached = p
	}
	return reached, 0, true
}

// spans returns what each base of a timeline reaches, in ascending order of the bases.
func (h History) spans(bases []Base) []span {
	var spans []span
	own := h.Start.own(h.next, bases)
	if h.own == nil {
		h.own = own
	}
	for _, b := range own {
		if s, ok := h.span(b); ok {
			spans = append(spans, s)
		}
	}
	return spans
}

// anchor is the chain before the first link that exists. Links before it may have been deleted with their bases.
func (h History) anchor() Chain {
	chain := h.Start.Chain()
	if len(h.Links) > 0 && h.Links[0].Header.First > chain.Last+1 {
		first := h.Links[0].Header
		return Chain{Timeline: first.Timeline, Last: first.First - 1, Hash: first.Previous, At: h.Start.Base.At}
	}
	return chain
}

// span returns false if the base is not a revision of the chain, so that it may be of another history.
func (h History) span(b Base) (span, bool) {
	chain := h.anchor()
	s := span{base: b, chain: chain, to: b.Point, times: []Point{b.Point}}
	known := b.Point.Revision == h.Start.Base.Revision || b.Point.Revision == chain.Last
	if b.Point.Revision < chain.Last {
		return s, known
	}
	for _, l := range h.Links {
		next, err := chain.Follow(l.Key, l.Header)
		if err != nil {
			break
		}
		known = known || l.Header.First <= b.Point.Revision && b.Point.Revision <= l.Header.Last
		if l.Header.Last <= b.Point.Revision {
			chain, s.chain = next, next
			continue
		}
		if len(s.links) == 0 && h.Start.foreign(b, l.Header) {
			return s, false
		}
		if l.Header.Gap() || !l.Header.authKept(b.Auth) {
			return s, known
		}
		chain = next
		s.extend(l)
	}
	if p := h.Progress; p != nil && s.to.Revision == p.Revision && p.At.After(s.to.At) && b.Auth.Keeps(h.idle(b)) {
		s.to = *p
		s.times = append(s.times, *p)
	}
	return s, known
}

// idle returns the state of authentication up to Progress, since when there was no revision: that of the newest base of the last one. An
// archiver does not report progress between a change and the base that has it.
func (h History) idle(b Base) auth.State {
	at, state := b.Point.At, b.Auth
	for _, own := range h.own {
		if own.Point.Revision == h.Progress.Revision && own.Point.At.After(at) && !own.Point.At.After(h.Progress.At) {
			at, state = own.Point.At, own.Auth
		}
	}
	return state
}

// extend adds a link to the span. Times never go backwards, although two clocks have made them.
func (s *span) extend(l Link) {
	s.links = append(s.links, l)
	for _, p := range l.Header.Points {
		if p.Revision < s.base.Point.Revision {
			continue
		}
		if last := s.times[len(s.times)-1].At; p.At.Before(last) {
			p.At = last
		}
		s.times = append(s.times, p)
	}
	s.to = s.times[len(s.times)-1]
}

// refuse explains why no timeline has the target.
func refuse(histories []History, bases []Base, e evidence, target Target) *Refusal {
	refusal := &Refusal{Target: target, Reason: "it is outside of what the archive has"}
	shown := func(t Timeline, p Point) bool {
		return target.Revision == 0 || !hides(histories, bases, e, t, p.Revision)
	}
	for _, r := range recoverable(histories, bases, e) {
		if below(r.To, target) && shown(r.Timeline, r.To) {
			refusal.Before = &r.To
		}
		if refusal.After == nil && above(r.From, target) && shown(r.Timeline, r.From) {
			refusal.After = &r.From
		}
	}
	for _, h := range histories {
		for i, l := range h.Links {
			if reason := l.loss(target); reason != "" {
				refusal.Reason = reason
			}
			if i > 0 && l.Header.First != h.Links[i-1].Header.Last+1 {
				first, last := h.Links[i-1].Header.Last+1, l.Header.First-1
				if target.Revision >= first && target.Revision <= last {
					refusal.Reason = fmt.Sprintf("the segments of the revisions %d to %d of timeline %d are missing, or in a storage class that cannot be read", first, last, h.Start.Timeline)
				}
			}
		}
	}
	return refusal
}

// loss returns why a link cannot be replayed, if the target is in it.
func (l Link) loss(target Target) string {
	h := l.Header
	if target.Revision > 0 && (target.Revision < h.First || target.Revision > h.Last) {
		return ""
	}
	if target.Revision == 0 && (target.Time.Before(h.From().At) || target.Time.After(h.To().At)) {
		return ""
	}
	switch {
	case h.Gap():
		return fmt.Sprintf("the revisions %d to %d of timeline %d were lost: %s", h.First, h.Last, h.Timeline, h.Reason)
	case h.authChanged():
		return fmt.Sprintf("users, roles or authentication changed between the revisions %d and %d, and the archive does not have these changes", h.First, h.Last)
	}
	return ""
}

func below(p Point, target Target) bool {
	if target.Revision > 0 {
		return p.Revision < target.Revision
	}
	return p.At.Before(target.Time)
}

func above(p Point, target Target) bool {
	if target.Revision > 0 {
		return p.Revision > target.Revision
	}
	return p.At.After(target.Time)
}

// IsRefusal reports whether an error says that a target cannot be restored.
func IsRefusal(err error) bool {
	var refusal *Refusal
	return errors.As(err, &refusal)
}
