package archive

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestAReplayNeverBeginsWithASnapshotOfAnotherHistory has two timelines with one cluster ID. That happens after the recovery of a lost
// quorum, or if members with the same addresses begin with empty disks. Both have the revisions 50 to 100, and snapshots of them.
func TestAReplayNeverBeginsWithASnapshotOfAnotherHistory(t *testing.T) {
	first := newHistory(1, base(10, 10)).segment(100)
	second := newHistory(2, base(50, 200))
	second.shift = 150
	second.segment(80)
	lost := []Base{base(10, 10), base(60, 60), base(80, 80)}
	kept := []Base{base(50, 200), base(70, 220)}
	for i := range kept {
		kept[i].Key += "-second"
	}
	both, bases := []History{first.History, second.History}, slices.Concat(lost, kept)
	store := storing(both...)
	for name, test := range map[string]struct {
		target   Target
		timeline Timeline
		base     string
	}{
		"a revision of the second timeline":                           {Target{Revision: 65}, 2, "base-50-second"},
		"a revision after the second snapshot of the second timeline": {Target{Revision: 80}, 2, "base-70-second"},
		"a time in the second timeline":                               {Target{Time: at(213)}, 2, "base-50-second"},
		"a revision that only the first timeline has":                 {Target{Revision: 95}, 1, "base-80"},
		"a time in the first timeline":                                {Target{Time: at(75)}, 1, "base-60"},
	} {
		for kind, choose := range map[string]func() (Choice, error){
			"Select": func() (Choice, error) { return Select(both, bases, test.target) },
			"Find":   func() (Choice, error) { return Find(t.Context(), store, root, bases, Progress{}, test.target) },
		} {
			c, err := choose()
			if err != nil || c.Timeline != test.timeline || c.Base.Key != test.base {
				t.Errorf("%s, %s: the replay begins with %s of timeline %d, want %s of %d; error %v", kind, name, c.Base.Key, c.Timeline, test.base, test.timeline, err)
			}
		}
	}
	for _, r := range Recoverable(both, lost) {
		if r.Timeline == 2 {
			t.Errorf("the snapshots of the first history make the range %v of the second", r)
		}
	}
}

// Before the base of the new timeline, a user may take a snapshot of the recovered cluster. The first timeline has other changes after it, so a replay
// would mix two histories. The recovered cluster had revision 95, too, so a user who asks for it must not get that of the lost history.
func TestASnapshotBetweenARecoveryAndItsTimelineIsNotOfTheOldHistory(t *testing.T) {
	first := newHistory(1, base(10, 10)).segment(100)
	second := newHistory(2, base(97, 200))
	second.Start.Recovery = "of Monday"
	between := base(90, 190)
	between.Recovery, between.Key = "of Monday", "between"
	both, bases := []History{first.History, second.History}, []Base{base(10, 10), base(80, 80), between, base(97, 200)}
	store := storing(both...)
	for kind, choose := range map[string]func(Target) (Choice, error){
		"Select": func(target Target) (Choice, error) { return Select(both, bases, target) },
		"Find":   func(target Target) (Choice, error) { return Find(t.Context(), store, root, bases, Progress{}, target) },
	} {
		for _, target := range []Target{{Revision: 89}, {Time: at(95)}} {
			if c, err := choose(target); err != nil || c.Base.Key != "base-80" || c.Timeline != 1 {
				t.Errorf("%s, %s: the replay begins with %s of timeline %d, want base-80 of 1; error %v", kind, target, c.Base.Key, c.Timeline, err)
			}
		}
		if c, err := choose(Target{Revision: 95}); !IsRefusal(err) {
			t.Errorf("%s: revision 95 is restored from %s of timeline %d, error %v", kind, c.Base.Key, c.Timeline, err)
		}
	}
}

// TestASnapshotByAClockThatWasAheadIsNotOfTheRecoveredHistory has a snapshot from before a recovery, by a clock that was ahead. The survivor was
// behind the snapshot, so the recovered cluster repeated its revisions with other changes. A replay from the snapshot mixed both histories.
func TestASnapshotByAClockThatWasAheadIsNotOfTheRecoveredHistory(t *testing.T) {
	begun, later, ahead := base(50, 200), base(65, 215), base(75, 230)
	begun.Key, later.Key, ahead.Key, later.Recovery = "begun", "later", "ahead", "of Monday"
	first, second := newHistory(1, base(10, 10)).segment(100), newHistory(2, begun)
	second.shift, second.Start.Recovery = 150, "of Monday"
	second.chain = second.Start.Chain()
	second.segment(60).segment(70).segment(80).segment(90)
	both, bases := []History{first.History, second.History}, []Base{base(10, 10), begun, later, ahead}
	store := storing(both...)
	for name, target := range map[string]Target{"a revision": {Revision: 85}, "a time": {Time: at(235)}} {
		for kind, choose := range map[string]func() (Choice, error){
			"Select": func() (Choice, error) { return Select(both, bases, target) },
			"Find":   func() (Choice, error) { return Find(t.Context(), store, root, bases, Progress{}, target) },
		} {
			if c, err := choose(); err != nil || c.Base.Key != later.Key || c.Timeline != 2 {
				t.Errorf("%s, %s: the replay begins with %s of timeline %d, want %s of 2; error %v", kind, name, c.Base.Key, c.Timeline, later.Key, err)
			}
		}
	}
	survey, err := Look(t.Context(), store, root, []Base{begun}, 10)
	if err != nil || !survey.Covered {
		t.Errorf("without its recovery, the base that began the timeline is none of it: %v, error %v", survey.Ranges, err)
	}
	names, starts := namesOf(both)
	if keys := outdatedKeys(names, starts, ahead); len(keys) > 0 {
		t.Errorf("for a snapshot that may be of either history, %q would be deleted", keys)
	}
	if keys := outdatedKeys(names, starts, later); len(keys) != 3 {
		t.Errorf("for a snapshot of the second history, %q would be deleted, want the first timeline and one segment", keys)
	}
}

// TestTheSnapshotThatBeganATimelineIsItsOwn has a snapshot whose manifest has no time. The store's time is earlier than that of the start
// object.
func TestTheSnapshotThatBeganATimelineIsItsOwn(t *testing.T) {
	begun := base(10, 10)
	h := newHistory(1, begun).segment(20)
	begun.Point.At = at(8)
	store := storing(h.History)
	survey, err := Look(t.Context(), store, root, []Base{begun}, 10)
	if err != nil || !survey.Covered || len(survey.Ranges) != 1 {
		t.Errorf("the ranges are %v, covered %t, error %v", survey.Ranges, survey.Covered, err)
	}
	c, err := Find(t.Context(), store, root, []Base{begun}, Progress{}, Target{Revision: 15})
	if err != nil || !strings.HasPrefix(c.Base.Key, "base-10") {
		t.Errorf("the base is %q, error %v", c.Base.Key, err)
	}
}

func TestLookCountsTheLinksAfterTheNewestBase(t *testing.T) {
	h := newHistory(1, base(10, 10)).segment(20).segment(30).segment(40).segment(50)
	for name, test := range map[string]struct {
		bases []Base
		want  int
	}{
		"only the base at the start":     {[]Base{base(10, 10)}, 4},
		"a base within a segment":        {[]Base{base(10, 10), base(25, 25)}, 2},
		"a base at the end of a segment": {[]Base{base(10, 10), base(40, 40)}, 1},
		"no base":                        {nil, 4},
	} {
		survey, err := Look(t.Context(), storing(h.History), root, test.bases, 10)
		if err != nil || survey.Following != test.want {
			t.Errorf("%s: %d links follow, want %d; error %v", name, survey.Following, test.want, err)
		}
	}
}

// TestAnotherClusterInBetweenDoesNotJoinTwoHistories has a timeline of another cluster between two of one cluster ID. The cause may be
// endpoints that were wrong for an hour, or a second Kubernetes that uses the folder. The cluster was recovered from older data in that
// hour.
func TestAnotherClusterInBetweenDoesNotJoinTwoHistories(t *testing.T) {
	first := newHistory(1, base(10, 10)).segment(100)
	other := base(7, 150)
	other.ClusterID, other.Key = "0000000000000def", "other"
	between := newHistory(2, other)
	between.Start.ClusterID = other.ClusterID
	third := newHistory(3, base(50, 200))
	third.shift = 150
	third.segment(80)
	later := base(70, 220)
	later.Key = "later"
	all, bases := []History{first.History, between.History, third.History}, []Base{base(10, 10), base(60, 60), other, later}
	store := storing(all...)
	for kind, choose := range map[string]func() (Choice, error){
		"Select": func() (Choice, error) { return Select(all, bases, Target{Revision: 95}) },
		"Find":   func() (Choice, error) { return Find(t.Context(), store, root, bases, Progress{}, Target{Revision: 95}) },
	} {
		if c, err := choose(); err != nil || c.Base.Key != "base-60" || c.Timeline != 1 {
			t.Errorf("%s: the replay begins with %s of timeline %d, want base-60 of 1; error %v", kind, c.Base.Key, c.Timeline, err)
		}
	}
	if survey, err := Look(t.Context(), store, root, []Base{later}, 10); err != nil || len(survey.Ranges) != 1 || survey.Ranges[0].Timeline != 3 {
		t.Errorf("the ranges are %v, error %v", survey.Ranges, err)
	}
}

// The status listed points that every restore refused, because snapshots had failed for a day.
func TestLookListsNothingThatHasTooManyLinksForARestore(t *testing.T) {
	h := newHistory(1, base(10, 10))
	for range MaxLinks + 50 {
		h.segment(h.chain.Last + 1)
	}
	store, first, end := storing(h.History), base(10, 10), h.chain.Last
	for name, test := range map[string]struct {
		bases   []Base
		covered bool
		ranges  int
	}{
		"the last snapshot is too old":  {[]Base{first}, false, 1},
		"a snapshot was taken too late": {[]Base{first, base(end-5, int(end)-5)}, true, 2},
		"a snapshot was taken in time":  {[]Base{first, base(end-100, int(end)-100)}, true, 1},
	} {
		survey, err := Look(t.Context(), store, root, test.bases, 10)
		if err != nil || survey.Covered != test.covered || len(survey.Ranges) != test.ranges {
			t.Errorf("%s: ranges %v, covered %t, error %v", name, survey.Ranges, survey.Covered, err)
			continue
		}
		for _, r := range survey.Ranges {
			for _, revision := range []int64{r.From.Revision, r.To.Revision} {
				if _, err := Find(t.Context(), store, root, test.bases, Progress{}, Target{Revision: revision}); err != nil {
					t.Errorf("%s: revision %d of the range %v: %v", name, revision, r, err)
				}
			}
		}
		if last := survey.Ranges[0].To.Revision; test.ranges == 2 || !test.covered {
			if _, err := Find(t.Context(), store, root, test.bases, Progress{}, Target{Revision: last + 1}); !errors.Is(err, ErrTooManyLinks) {
				t.Errorf("%s: revision %d after the range: %v", name, last+1, err)
			}
		}
	}
}

// After a change of users, an idle cluster adds no link. Its later snapshots have the new users, so they did not count as bases for the end of
// the archive. After retention had deleted the earlier snapshots, the status reported that nothing could be restored.
func TestASnapshotAtTheEndReachesItAfterAChangeOfUsers(t *testing.T) {
	changed := base(20, 500)
	changed.Auth.Revision++
	for name, h := range map[string]*history{
		"the snapshot follows a segment":               newHistory(1, base(10, 10)).segment(20),
		"the snapshot follows the start of a timeline": newHistory(1, base(20, 20)),
	} {
		survey, err := Look(t.Context(), storing(h.History), root, []Base{changed}, 10)
		if err != nil || !survey.Covered || !survey.Covers(changed) || len(survey.Ranges) != 1 || survey.Ranges[0].To != changed.Point {
			t.Errorf("%s: ranges %v, covered %t, error %v, want the range of the snapshot", name, survey.Ranges, survey.Covered, err)
		}
		for _, target := range []Target{{Revision: 20}, {Time: at(500)}} {
			if c, err := Find(t.Context(), storing(h.History), root, []Base{changed}, Progress{}, target); err != nil || c.Base.Key != changed.Key {
				t.Errorf("%s, %s: base %q, error %v", name, target, c.Base.Key, err)
			}
		}
	}
	h := newHistory(1, base(10, 10)).segment(20).segment(30, 2, 2)
	survey, err := Look(t.Context(), storing(h.History), root, []Base{base(10, 10), changed}, 10)
	if err != nil || len(survey.Ranges) != 2 || survey.Ranges[0].From.Revision != 10 || survey.Ranges[1].From.Revision != 20 {
		t.Errorf("after the next segment: ranges %v, error %v, want one before and one after the change", survey.Ranges, err)
	}
}

// The operator deletes the segments from before the window. Retention may keep older snapshots, for example one of each month. The status listed
// the range from the oldest of them, although most of that range was deleted.
func TestLookListsNothingWhoseSegmentsWereDeleted(t *testing.T) {
	bases := []Base{base(10, 10), base(25, 25), base(30, 30), base(35, 35)}
	for deleted, ranges := range []int{1, 1, 1, 0} { // the last segment is kept
		h := newHistory(1, base(10, 10)).segment(20).segment(30).segment(40).segment(50)
		h.Links = h.Links[deleted:]
		store := storing(h.History)
		survey, err := Look(t.Context(), store, root, bases, 10)
		if err != nil || len(survey.Ranges) != ranges {
			t.Errorf("%d segments were deleted: ranges %v, error %v", deleted, survey.Ranges, err)
		}
		for revision := int64(10); revision <= 50; revision++ {
			_, err := Find(t.Context(), store, root, bases, Progress{}, Target{Revision: revision})
			if within(survey.Ranges, 1, revision) && err != nil {
				t.Errorf("%d segments were deleted: the range %v has revision %d, and a restore says: %v", deleted, survey.Ranges, revision, err)
			}
		}
		if old := base(10, 10); deleted > 0 && survey.Covers(old) {
			t.Errorf("%d segments were deleted: a replay from revision 10 reaches the end", deleted)
		}
	}
}
