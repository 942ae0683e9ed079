package archive

import (
	"cmp"
	"slices"
	"strings"
	"time"
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
