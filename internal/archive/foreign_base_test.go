package archive

import (
	"slices"
	"testing"
	"time"
	"unsafe"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/internal/auth"
)

// Somebody restores an etcd that the operator does not manage from a copy at revision 1550. The cluster ID is the same. A snapshot is taken at
// revision 1600 before the archiver begins the next timeline. A replay of the first timeline on that snapshot would mix two histories.
func TestASnapshotAfterARestoreFromAnOlderCopyIsNoBaseOfTheHistoryBefore(t *testing.T) {
	first := newHistory(1, base(1, 1)).segment(1500).segment(2000).segment(3000)
	second := newHistory(2, base(1610, 9020))
	second.shift = 9020 - 1610 + 1
	second.segment(1650)
	between := base(1600, 9010)
	between.Key, between.Captured = "of-the-second-history", true
	bases := []Base{base(1, 1), base(1500, 1500), base(2000, 2000), between, base(1610, 9020)}
	histories := []History{first.History, second.History}
	for revision, from := range map[int64]int64{1550: 1500, 1600: 1500, 1605: 1500, 1700: 1500, 1999: 1500, 2500: 2000} {
		found, err := Find(t.Context(), storing(histories...), root, bases, Progress{}, Target{Revision: revision})
		if err != nil || found.Timeline != 1 || found.Base.Point.Revision != from {
			t.Errorf("revision %d: timeline %d from the base at %d, error %v", revision, found.Timeline, found.Base.Point.Revision, err)
		}
		selected, err := Select(histories, bases, Target{Revision: revision})
		if err != nil || selected.Base.Point.Revision != from {
			t.Errorf("revision %d: Select takes the base at %d, error %v", revision, selected.Base.Point.Revision, err)
		}
	}
}

// The archiver did not begin a timeline for the second history: the series was suspended or the archive was turned off, or it had a gap later.
func TestASnapshotOfAnotherHistoryIsNoBaseAlthoughNoTimelineFollowed(t *testing.T) {
	first := newHistory(1, base(1, 1)).segment(1500).segment(2000)
	between := base(1600, 9010)
	between.Key, between.Captured, between.Stored = "of-the-second-history", true, at(9011)
	later := newHistory(1, base(1, 1)).segment(1500).segment(2000)
	behind := base(5000, 20000)
	behind.Captured = true
	later.gap(behind)
	for name, histories := range map[string][]History{"no timeline followed": {first.History}, "a gap followed": {later.History}} {
		found, err := Find(t.Context(), storing(histories...), root, []Base{base(1, 1), base(1500, 1500), between, behind}, Progress{}, Target{Revision: 1700})
		if err != nil || found.Base.Point.Revision != 1500 {
			t.Errorf("%s: base at %d, error %v", name, found.Base.Point.Revision, err)
		}
	}
}

// Nothing is replayed on a base at the target, so no link after it was read.
func TestASnapshotOfAnotherHistoryAtTheTargetIsNoBase(t *testing.T) {
	first := newHistory(1, base(1, 1)).segment(1500).segment(1600).segment(2000)
	second := newHistory(2, base(1610, 9020))
	second.shift = 9020 - 1610 + 1
	second.segment(1650)
	between := base(1600, 9010)
	between.Key, between.Captured = "of-the-second-history", true
	bases := []Base{base(1, 1), base(1500, 1500), between, base(1610, 9020)}
	found, err := Find(t.Context(), storing(first.History, second.History), root, bases, Progress{}, Target{Revision: 1600})
	if err != nil || found.Base.Point.Revision != 1500 {
		t.Errorf("base at %d, error %v", found.Base.Point.Revision, err)
	}
}

// The status listed a range that ended before it began, and a restore of a revision in it was refused.
func TestARangeDoesNotBeginWithASnapshotOfAnotherHistory(t *testing.T) {
	first := newHistory(1, base(1, 1)).segment(1500).segment(2000)
	second := newHistory(2, base(1610, 9020))
	second.shift = 9020 - 1610 + 1
	second.segment(1650)
	between := base(1600, 9010)
	between.Captured = true
	survey, err := Look(t.Context(), storing(first.History, second.History), root, []Base{between, base(1610, 9020)}, 16)
	if err != nil || len(survey.Ranges) != 1 || survey.Ranges[0].Timeline != 2 {
		t.Errorf("the ranges are %+v, error %v", survey.Ranges, err)
	}
}

// A base is needed even if its member lagged a little behind, and the one that began the timeline always is.
func TestABaseOfTheSameHistoryStaysABase(t *testing.T) {
	first := newHistory(1, base(1, 1)).segment(100).segment(300)
	next := newHistory(2, base(400, 400))
	for name, c := range map[string]struct {
		at        int
		captured  bool
		histories []History
	}{
		"its member lagged by 50 s":                        {200, true, []History{first.History, next.History}},
		"the store received it long after it was captured": {350, false, []History{first.History, next.History}},
		"a clock was wrong, and no timeline followed":      {350, true, []History{first.History}},
	} {
		b := base(150, c.at)
		b.Captured = c.captured
		if c.at == 350 {
			b.Stored = at(150)
		}
		found, err := Find(t.Context(), storing(c.histories...), root, []Base{base(1, 1), b, base(400, 400)}, Progress{}, Target{Revision: 250})
		if err != nil || found.Base.Point.Revision != 150 {
			t.Errorf("%s: base at %d, error %v", name, found.Base.Point.Revision, err)
		}
	}
	ahead := newHistory(1, base(1, 9000)).segment(100)
	if found, err := Find(t.Context(), storing(ahead.History), root, []Base{base(1, 9000)}, Progress{}, Target{Revision: 50}); err != nil || found.Base.Point.Revision != 1 {
		t.Errorf("a timeline that began by a clock that was ahead: base at %d, error %v", found.Base.Point.Revision, err)
	}
}

// A timeline that begins by a clock that is days ahead has no other bases until then. If these counted, each snapshot would be answered by the wish
// for another one.
func TestOnlyBasesOfTheTimelineCountAsTheNewest(t *testing.T) {
	h := newHistory(1, base(1, 1_000_000))
	h.segment(10).segment(20).segment(30).segment(40)
	s, err := Look(t.Context(), storing(h.History), root, []Base{base(1, 1_000_000), base(25, 25), base(40, 40)}, 16)
	if err != nil || s.NewestBase() != 1 {
		t.Errorf("the newest base is at revision %d, error %v", s.NewestBase(), err)
	}
}

// setBack returns a time whose wall clock was set back while the monotonic clock went on. Only the kernel can do that to a real one.
func setBack(at time.Time, seconds uint64) time.Time {
	type wall struct{ bits uint64 }
	(*wall)(unsafe.Pointer(&at)).bits -= seconds << 30 // the seconds of the wall clock
	return at
}

// If the clock is set back within a segment, the segment must be sealed nevertheless. Else its changes are lost with the cluster.
func TestASegmentIsSealedAlthoughTheClockWasSetBack(t *testing.T) {
	now := time.Now()
	w := NewWriter(discarded{}, NewStart(1, 0xabc, Base{Point: Point{Revision: 1, At: now.Add(-time.Hour).Round(0)}}, "test").Chain(), auth.State{Revision: 1})
	for i, at := range []time.Time{now, now.Add(time.Second), setBack(now.Add(2*time.Second), 10)} {
		r := int64(i) + 2
		if err := w.Add(&mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte("k"), ModRevision: r, CreateRevision: 2, Version: r - 1}}, at); err != nil {
			t.Fatal(err)
		}
	}
	if h, err := w.Seal(nil, auth.State{Revision: 1}, 0); err != nil || h.To().At.Before(h.From().At) {
		t.Errorf("points %v, error %v", h.Points, err)
	}
}

type discarded struct{}

func (discarded) Write(b []byte) (int, error) { return len(b), nil }

// Two Kubernetes may share a bucket by mistake. The one with the shorter window must not delete what the other one promises.
func TestATimelineOfAnotherEtcdBackupAndClusterIsKept(t *testing.T) {
	earlier := newHistory(1, base(1, 1))
	earlier.segment(10)
	ours := newHistory(2, base(5, 5))
	ours.Start.Writer = "uid-of-this"
	ours.segment(10).segment(20).segment(30).segment(40)
	for name, c := range map[string]struct {
		writer, cluster string
		kept            bool
	}{
		"of another EtcdBackup and another cluster":    {"uid-of-another", "0000000000000def", true},
		"of this EtcdBackup, before a restore":         {"uid-of-this", "0000000000000def", false},
		"of a deleted EtcdBackup, of the same cluster": {"uid-of-another", ours.Start.ClusterID, false},
	} {
		earlier.Start.Writer, earlier.Start.ClusterID = c.writer, c.cluster
		all, release, err := List(t.Context(), storing(earlier.History, ours.History), root)
		if err != nil {
			t.Fatal(err)
		}
		release()
		got := outdatedKeys(all, []Start{earlier.Start, ours.Start}, base(15, 15))
		if kept := !slices.Contains(got, StartKey(root, 1)); kept != c.kept || len(got) == 0 {
			t.Errorf("%s: kept %v, deleted are %q", name, kept, got)
		}
	}
}
