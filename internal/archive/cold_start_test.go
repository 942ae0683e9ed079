package archive

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// A lifecycle rule moved the start of an old timeline to a class that cannot be read. Its segments, and a newer timeline, can be read. No survey
// ended any more, so the status, the proofs and the retention of the whole archive stood still.
func TestAColdStartHidesNoOtherTimeline(t *testing.T) {
	first := newHistory(1, base(5, 5)).segment(8).segment(9)
	second := newHistory(2, base(10, 10)).segment(20).segment(30)
	bases := []Base{base(5, 5), base(10, 10), base(15, 15)}
	for name, fault := range map[string]objstoretest.Fault{"cold": objstoretest.Cold, "lost": objstoretest.Lost} {
		store := storing(first.History, second.History)
		store.Set(StartKey(root, 1), fault)
		s, err := Look(t.Context(), store, root, bases, 10)
		if err != nil || len(s.Ranges) != 1 || s.Ranges[0].Timeline != 2 || !s.Covered {
			t.Errorf("the start of timeline 1 is %s, and the ranges are %+v: %v", name, s.Ranges, err)
		}
		if len(s.Unreadable) != 1 || s.Unreadable[0].Key != StartKey(root, 1) || s.Unreadable[0].Err == nil || len(s.Startless) > 0 {
			t.Errorf("the start of timeline 1 is %s: unreadable are %v, startless %v", name, s.Unreadable, s.Startless)
		}
		if keys := outdatedKeys(s.Names, s.Starts, base(25, 25)); slices.Contains(keys, first.Links[0].Key) {
			t.Errorf("the start of timeline 1 is %s, so its owner is not known, and %q are deleted", name, keys)
		}
		if c, err := Find(t.Context(), store, root, bases, Progress{}, Target{Revision: 25}); err != nil || c.Timeline != 2 {
			t.Errorf("the start of timeline 1 is %s, and a revision of timeline 2 is taken from %d: %v", name, c.Timeline, err)
		}
	}
}

// The newest timeline repeats revisions of an older one with other data, and its start is cold. A restore of such a revision must not take the older
// data. It must not fail for good either, because a person can move the start back.
func TestAColdStartOfTheNewestTimelineHidesOlderData(t *testing.T) {
	first := newHistory(1, base(5, 5)).segment(50)
	second := newHistory(2, base(10, 100))
	second.shift = 90
	second.segment(20).segment(30)
	store := storing(first.History, second.History)
	key := StartKey(root, 2)
	store.Set(key, objstoretest.Cold)
	bases := []Base{base(5, 5)}
	for _, target := range []Target{{Revision: 25}, {Time: at(115)}} {
		c, err := Find(t.Context(), store, root, bases, Progress{}, target)
		if !errors.Is(err, fs.ErrPermission) || IsRefusal(err) {
			t.Errorf("%s is taken from timeline %d, %v", target, c.Timeline, err)
		}
	}
	if c, err := Find(t.Context(), store, root, bases, Progress{}, Target{Revision: 45}); err != nil || c.Timeline != 1 {
		t.Errorf("revision 45, which only timeline 1 had, is taken from timeline %d: %v", c.Timeline, err)
	}
	s, err := Look(t.Context(), store, root, bases, 10)
	if err != nil || len(s.Ranges) != 1 || !slices.Equal(s.Ranges[0].Hidden, []Revisions{{5, 30}}) {
		t.Errorf("ranges %+v, %v", s.Ranges, err)
	}
}

// Others had the revision of the target, so Find reads the starts of older timelines. One of them is cold, and shows nothing.
func TestAColdOlderStartEndsNoSearch(t *testing.T) {
	first := newHistory(1, base(5, 5)).segment(8)
	second := newHistory(2, base(10, 10)).segment(20).segment(30)
	another := base(25, 12)
	another.ClusterID, another.Key = "00000000000000ff", "another"
	store := storing(first.History, second.History)
	store.Set(StartKey(root, 1), objstoretest.Cold)
	if c, err := Find(t.Context(), store, root, []Base{base(10, 10), another}, Progress{}, Target{Revision: 25}); !IsRefusal(err) {
		t.Errorf("a snapshot shows that a later cluster had revision 25, and it is taken from timeline %d: %v", c.Timeline, err)
	}
}

// A store that returns no object fails itself. Otherwise the status would say that nothing can be restored.
func TestAStoreThatReturnsNoStartAndNoSegmentEndsASurvey(t *testing.T) {
	h := newHistory(1, base(10, 10)).segment(20)
	store := with(storing(h.History), objstoretest.Lost, StartKey(root, 1), h.Links[0].Key)
	if s, err := Look(t.Context(), store, root, []Base{base(10, 10)}, 10); !errors.Is(err, objstoretest.ErrLost) {
		t.Errorf("error %v, ranges %v", err, s.Ranges)
	}
}
