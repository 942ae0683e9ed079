package archive

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Revisions are those from First to Last.
type Revisions struct{ First, Last int64 }

// maxHidden is how many parts of a range are reported as hidden. If there are more, what is between the last ones counts as hidden, too.
const maxHidden = 16

// hides returns the revisions that a restore takes only from this timeline, and from no older one: those that it had. last is the end of its last
// link, and 0 if it has none. It returns false if no base is of its cluster.
func (s Start) hides(bases, own []Base, last int64) (Revisions, bool) {
	hidden := Revisions{s.Base.Revision, max(last, s.Base.Revision)}
	for _, b := range own {
		hidden.Last = max(hidden.Last, b.Point.Revision)
	}
	return hidden, ofCluster(s.ClusterID, bases)
}

// hiding returns the range with those of its revisions that newer timelines had.
func (r Range) hiding(newer []Revisions) Range {
	r.Hidden = nil
	newer = slices.SortedFunc(slices.Values(newer), func(a, b Revisions) int { return cmp.Compare(a.First, b.First) })
	for _, n := range newer {
		part := Revisions{max(n.First, r.From.Revision), min(n.Last, r.To.Revision)}
		if part.First > part.Last {
			continue
		}
		last := len(r.Hidden) - 1
		if last >= 0 && (part.First-1 <= r.Hidden[last].Last || last == maxHidden-1) {
			r.Hidden[last].Last = max(r.Hidden[last].Last, part.Last)
			continue
		}
		r.Hidden = append(r.Hidden, part)
	}
	return r
}

// later is what the snapshots and the timelines of a cluster ID show: revisions that its cluster had, and until when it was there.
type later struct {
	Revisions
	until time.Time
}

func (l *later) add(p Point) {
	l.First, l.Last = min(l.First, p.Revision), max(l.Last, p.Revision)
	if p.At.After(l.until) {
		l.until = p.At
	}
}

// hiddenBy returns the revisions that clusters with other IDs had after the timeline began, whether they were archived or not: the archive may have
// been off, or have stopped, for some time. A snapshot before a revision and one after it show that the cluster had it. In the timeline, such a
// revision has other data. A cluster ID without any base does not count.
func (s Start) hiddenBy(starts []Start, bases []Base) []Revisions {
	had := map[string]*later{}
	for _, b := range bases {
		if had[b.ClusterID] == nil {
			had[b.ClusterID] = &later{Revisions: Revisions{b.Point.Revision, b.Point.Revision}}
		}
		had[b.ClusterID].add(b.Point)
	}
	for _, start := range starts {
		if l := had[start.ClusterID]; l != nil {
			l.add(start.Base)
		}
	}
	var hidden []Revisions
	for id, l := range had {
		if s.ClusterID != "" && id != s.ClusterID && l.until.After(s.Base.At) {
			hidden = append(hidden, l.Revisions)
		}
	}
	return hidden
}

// hidden reports whether one of them has the revision.
func hidden(by []Revisions, revision int64) bool {
	return slices.ContainsFunc(by, func(r Revisions) bool { return r.First <= revision && revision <= r.Last })
}

// unknownEnd is that of a timeline whose last link cannot be read.
const unknownEnd = math.MaxInt64
