package archive

import (
	"cmp"
	"slices"
	"time"
)

// Seen shows that a cluster had a revision. It is a snapshot, or the start of a timeline. A snapshot that can be no base counts: it may be damaged,
// or taken without quorum, or it failed its restore test.
type Seen struct {
	Key       string // of the snapshot
	ClusterID string // 16 hex digits
	// Recovery is that of the cluster when the snapshot was taken, see Start.Recovery. Unread means that no manifest says it.
	Recovery string
	Unread   bool
	Revision int64
	// At is when the cluster was there: the earlier one of the time of the snapshot and the time at which the store received it. The clock of the
	// operator may have been ahead, and a copy of the bucket has later times of the store.
	At time.Time
}

// Seen returns what a base shows.
func (b Base) Seen() Seen {
	return Seen{Key: b.Key, ClusterID: b.ClusterID, Recovery: b.Recovery, Revision: b.Point.Revision, At: Earlier(b.Point.At, b.Stored)}
}

// Earlier returns the earlier one of two times. A zero time is not known.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// evidence is all that shows which clusters had which revisions.
type evidence struct {
	starts []Start
	seen   []Seen
}

func evidenceOf(starts []Start, bases []Base, seen []Seen) evidence {
	known := slices.DeleteFunc(slices.Clone(starts), func(s Start) bool { return s.ClusterID == "" })
	e := evidence{known, slices.Clone(seen)}
	for _, b := range bases {
		e.seen = append(e.seen, b.Seen())
	}
	return e
}

// with returns the evidence with other starts.
func (e evidence) with(starts []Start) evidence { return evidence{starts, e.seen} }

// only returns the evidence of some cluster IDs.
func (e evidence) only(of func(clusterID string) bool) evidence {
	return evidence{
		slices.DeleteFunc(slices.Clone(e.starts), func(s Start) bool { return !of(s.ClusterID) }),
		slices.DeleteFunc(slices.Clone(e.seen), func(s Seen) bool { return !of(s.ClusterID) }),
	}
}

// has reports whether there is a snapshot of a cluster ID.
func (e evidence) has(id string) bool {
	return slices.ContainsFunc(e.seen, func(s Seen) bool { return s.ClusterID == id })
}

// startless returns the highest revision of a snapshot that is not of an older timeline than one without a start that can be read; 0 if there is none.
// Such a snapshot was taken after the store had the start, or had the last link if nothing lists the start. The archive may have been off then.
func (e evidence) startless(names Names) (highest int64) {
	since := names.Begun
	if since.IsZero() {
		since = names.Stored
	}
	for _, x := range e.seen {
		if !since.IsZero() && !x.At.Before(since) {
			highest = max(highest, x.Revision)
		}
	}
	return highest
}

// began returns when a timeline began: the earlier one of the time of its base, and the time at which the store received that.
func (e evidence) began(s Start) time.Time {
	at := s.Base.At
	for _, x := range e.seen {
		if s.BaseKey != "" && sameSnapshot(x.Key, s.BaseKey) {
			at = Earlier(at, x.At)
		}
	}
	return at
}

// all returns the snapshots and the starts, oldest first.
func (e evidence) all() []Seen {
	all := slices.Clone(e.seen)
	for _, s := range e.starts {
		all = append(all, Seen{Key: s.BaseKey, ClusterID: s.ClusterID, Recovery: s.Recovery, Revision: s.Base.Revision, At: e.began(s)})
	}
	slices.SortStableFunc(all, func(a, b Seen) int { return a.At.Compare(b.At) })
	return all
}

// unknownRecovery is that of a snapshot without a readable manifest, after all others. The cluster may have recovered since.
const unknownRecovery = "unknown"

// recoveries returns what shows the revisions of one cluster ID, each with its recovery. One that is not known is that of a snapshot before it or
// after it, so both count. Without any after it, the store may fail for exactly the manifests after a recovery, so an unknown one counts.
func (e evidence) recoveries(id string) []Seen {
	all := slices.DeleteFunc(e.all(), func(x Seen) bool { return x.ClusterID != id })
	var known []Seen
	for i, x := range all {
		if !x.Unread {
			known = append(known, x)
			continue
		}
		read := func(x Seen) bool { return !x.Unread }
		if before := slices.IndexFunc(reversed(all[:i]), read); before >= 0 {
			x.Recovery = all[i-1-before].Recovery
			known = append(known, x)
		}
		if after := slices.IndexFunc(all[i:], read); after >= 0 {
			x.Recovery = all[i+after].Recovery
		} else {
			x.Recovery = unknownRecovery
		}
		known = append(known, x)
	}
	return known
}

func reversed(all []Seen) []Seen {
	all = slices.Clone(all)
	slices.Reverse(all)
	return all
}

// went reports whether a snapshot shows that a timeline had a revision. next is the next timeline with its cluster ID, and nil if there is none.
func (e evidence) went(s Start, next *Start, revision int64) bool {
	return e.last(s, next) >= revision
}

// last returns the newest revision of a timeline that a snapshot shows. It is 0 if none does.
func (e evidence) last(s Start, next *Start) (last int64) {
	began := e.began(s)
	for _, x := range e.seen {
		own := x.ClusterID == s.ClusterID && (x.Unread || x.Recovery == s.Recovery) && !x.At.Before(began)
		if own && (next == nil || x.At.Before(e.began(*next))) {
			last = max(last, x.Revision)
		}
	}
	return last
}

// later is what shows the revisions of a cluster, and until when it was there.
type later struct {
	Revisions
	until time.Time
}

func (l *later) add(x Seen) {
	if l.Last == 0 {
		l.First = x.Revision
	}
	l.First, l.Last = min(l.First, x.Revision), max(l.Last, x.Revision)
	if x.At.After(l.until) {
		l.until = x.At
	}
}

// after reports whether a cluster was there after a timeline began. Timelines are numbered in the order in which they began, so they decide if the
// cluster has any. Without one, the clocks decide.
func (l *later) after(s Start, began time.Time, own []Start) bool {
	if len(own) == 0 {
		return l.until.After(began)
	}
	newest := slices.MaxFunc(own, func(a, b Start) int { return cmp.Compare(a.Timeline, b.Timeline) })
	return newest.Timeline > s.Timeline
}

// hiddenBy returns the revisions that others had after the timeline began, whether they were archived or not: the archive may have been off, or have
// stopped, for some time. In the timeline, such a revision has other data. Others are clusters with another ID, and the same cluster after the
// recovery of a lost quorum, which keeps the ID. A snapshot before a revision and one after it show that it was there. A cluster ID without any
// snapshot does not count.
func (s Start) hiddenBy(e evidence) []Revisions {
	if s.ClusterID == "" {
		return nil
	}
	began := e.began(s)
	clusters := map[string]*later{}
	for _, x := range e.all() {
		if x.ClusterID == s.ClusterID || !e.has(x.ClusterID) {
			continue
		}
		if clusters[x.ClusterID] == nil {
			clusters[x.ClusterID] = &later{}
		}
		clusters[x.ClusterID].add(x)
	}
	var hidden []Revisions
	for id, l := range clusters {
		own := slices.DeleteFunc(slices.Clone(e.starts), func(o Start) bool { return o.ClusterID != id })
		if l.after(s, began, own) {
			hidden = append(hidden, l.Revisions)
		}
	}
	if recovered, found := s.recovered(e, began); found {
		hidden = append(hidden, recovered)
	}
	return hidden
}

// recovered returns the revisions that the same cluster had after recoveries that the timeline does not have. What names no recovery is of the
// history before, even if a clock that was ahead says otherwise.
func (s Start) recovered(e evidence, began time.Time) (Revisions, bool) {
	recoveries := map[string]*later{}
	for _, x := range e.recoveries(s.ClusterID) {
		if x.Recovery == "" || x.Recovery == s.Recovery {
			continue
		}
		if recoveries[x.Recovery] == nil {
			recoveries[x.Recovery] = &later{}
		}
		recoveries[x.Recovery].add(x)
	}
	all := &later{}
	for recovery, l := range recoveries {
		own := slices.DeleteFunc(slices.Clone(e.starts), func(o Start) bool { return o.ClusterID != s.ClusterID || o.Recovery != recovery })
		if l.after(s, began, own) {
			all.add(Seen{Revision: l.First})
			all.add(Seen{Revision: l.Last})
		}
	}
	return all.Revisions, all.Last > 0
}
