package archive

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/auth"
)

// has reports whether a base can be of the timeline. Another timeline may have the same cluster ID and the same revisions: after the
// recovery of a lost quorum, or if members with the same addresses began with empty disks. The base and the timeline must name the same
// recovery. A base that names none is of the history before, even if a clock that was ahead says otherwise. Only the base that began the
// timeline may name none: an operator that was killed has stored it. If the recovery is the same, the time of the base decides, together
// with that of the next timeline.
func (s Start) has(b Base) bool {
	if b.Recovery != s.Recovery && (b.Recovery != "" || !s.began(b)) {
		return false
	}
	return s.mayHave(b)
}

// mayHave is has without the recovery.
func (s Start) mayHave(b Base) bool {
	return b.ClusterID == s.ClusterID && b.Point.Revision >= s.Base.Revision && (!b.Point.At.Before(s.Base.At) || s.began(b))
}

// ofCluster reports whether one of the bases is of a cluster.
func ofCluster(id string, bases []Base) bool {
	return slices.ContainsFunc(bases, func(b Base) bool { return b.ClusterID == id })
}

// began reports whether the timeline begins with this base.
func (s Start) began(b Base) bool { return s.BaseKey != "" && sameSnapshot(b.Key, s.BaseKey) }

// ownSegments is how many segments of the key of a snapshot follow its folder: namespace, cluster, cluster ID, and time with revision.
const ownSegments = 4

// sameSnapshot reports whether two keys name the same snapshot, or a snapshot and its copy in another folder. A start is copied byte for byte, so it
// names its base by the key in the first location.
func sameSnapshot(a, b string) bool {
	if a == b {
		return true
	}
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	return len(x) >= ownSegments && len(y) >= ownSegments && slices.Equal(x[len(x)-ownSegments:], y[len(y)-ownSegments:])
}

// maxSkew is how far the member that sends a snapshot may lag behind the one that the archiver watches, with the difference of two clocks.
const maxSkew = time.Minute

// foreign reports whether a base is of another history than the timeline. after is the first link with a later revision. If the archiver received
// that revision well before the member began to send the base, somebody has replaced the data of the cluster by an older state in between. The
// clock of the operator may have been ahead when the base was taken, so the time at which the store received it counts if it is earlier. If the
// time of the capture is not known, and for the base that began the timeline, the result is false.
func (s Start) foreign(b Base, after Header) bool {
	first := slices.IndexFunc(after.Points, func(p Point) bool { return p.Revision > b.Point.Revision })
	if first < 0 || !b.Captured || after.Gap() || b.Point.Revision <= s.Base.Revision || s.began(b) {
		return false
	}
	at := b.Point.At
	if !b.Stored.IsZero() && b.Stored.Before(at) {
		at = b.Stored
	}
	return after.Points[first].At.Before(at.Add(-maxSkew))
}

// next returns the first of the later timelines that has the same cluster ID, and nil if there is none.
func (s Start) next(later []Start) *Start {
	for i := range later {
		if later[i].ClusterID == s.ClusterID {
			return &later[i]
		}
	}
	return nil
}

// own returns the bases of a timeline, oldest first, see Base.compare. next is the next timeline with its cluster ID, and nil if there is none. A
// replay from the base of another history would mix both without an error.
func (s Start) own(next *Start, bases []Base) []Base {
	var own []Base
	for _, b := range bases {
		later := next != nil && (!b.Point.At.Before(next.Base.At) || next.began(b))
		if s.has(b) && !later {
			own = append(own, b)
		}
	}
	slices.SortStableFunc(own, Base.compare)
	return own
}

// compare orders the bases of one history. Users, roles and authentication change without a new revision. So of two bases with one revision, the
// later state of authentication decides, and after that the time.
func (b Base) compare(other Base) int {
	return cmp.Or(cmp.Compare(b.Point.Revision, other.Point.Revision), b.Auth.Compare(other.Auth), b.Point.At.Compare(other.Point.At))
}

// linked returns the timelines, each with the start of the next one with its cluster ID.
func linked(histories []History) []History {
	histories = slices.Clone(histories)
	var later []Start
	for i := len(histories) - 1; i >= 0; i-- {
		h := &histories[i]
		if h.next == nil {
			h.next = h.Start.next(later)
		}
		later = append([]Start{h.Start}, later...)
	}
	return histories
}

// span is what one base reaches: links that follow each other, without a gap and without a change of authentication.
type span struct {
	base  Base
	chain Chain // before the first link
	links []Link
	to    Point
	times []Point // in ascending order
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

// anchor is the chain before the first link that exists. Links before it may have been deleted with their bases.
func (h History) anchor() Chain {
	chain := h.Start.Chain()
	if len(h.Links) > 0 && h.Links[0].Header.First > chain.Last+1 {
		first := h.Links[0].Header
		return Chain{Timeline: first.Timeline, Last: first.First - 1, Hash: first.Previous, At: h.Start.Base.At}
	}
	return chain
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
