package archive

import (
	"cmp"
	"math"
	"slices"
)

// maxHidden is how many parts of a range are reported as hidden. If there are more, what is between the last ones counts as hidden, too.
const maxHidden = 16

// hides returns the revisions that a restore takes only from this timeline, and from no older one: those that it had. last is the end of its last
// link, and 0 if it has none. It returns false if there is no snapshot of its cluster. If none of those is a base, nothing shows its end.
func (s Start) hides(e evidence, next *Start, bases, own []Base, last int64) (Revisions, bool) {
	hidden := Revisions{s.Base.Revision, max(last, s.Base.Revision, e.last(s, next))}
	for _, b := range own {
		hidden.Last = max(hidden.Last, b.Point.Revision)
	}
	based := ofCluster(s.ClusterID, bases)
	if !based {
		hidden.Last = unknownEnd
	}
	return hidden, based || e.has(s.ClusterID)
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

// hidden reports whether one of them has the revision.
func hidden(by []Revisions, revision int64) bool {
	return slices.ContainsFunc(by, func(r Revisions) bool { return r.First <= revision && revision <= r.Last })
}

// unknownEnd is that of a timeline whose last link cannot be read.
const unknownEnd = math.MaxInt64
