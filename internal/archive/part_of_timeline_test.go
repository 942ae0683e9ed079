package archive

import (
	"fmt"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// An archive with more segments than are held is searched in a part around the target. If the part were taken for the whole timeline where the start
// cannot be read, a user would get the data of an older history, or a refusal of what can be restored.
func TestASearchOfAPartFindsWhatASearchOfTheWholeTimelineFinds(t *testing.T) {
	var bases []Base
	keep := func(b Base, of string) Base {
		b.Key, b.Captured, b.Stored = fmt.Sprint(of, "-", b.Point.Revision), true, b.Point.At
		bases = append(bases, b)
		return b
	}
	one := newHistory(1, keep(base(5, 5), "one"))
	two := newHistory(2, keep(base(20, 2000), "two"))
	two.shift = 1980
	for r := int64(6); r <= 160; r++ {
		if one.segment(r); r%8 == 0 {
			keep(base(r, int(r)), "one")
		}
	}
	for r := int64(21); r <= 140; r++ {
		if two.segment(r); r%8 == 0 {
			keep(base(r, int(r)+two.shift), "two")
		}
	}
	var targets []Target
	for i := 1; i < 170; i += 3 {
		targets = append(targets, Target{Revision: int64(i)}, Target{Time: at(i)}, Target{Time: at(1950 + i)})
	}
	for name, fault := range map[string]objstoretest.Fault{
		"readable": 0, "cold": objstoretest.Cold, "lost": objstoretest.Lost, "deleted": objstoretest.Gone,
		"lost, and a listing omits it": objstoretest.Omitted | objstoretest.Lost, "cold, and a listing omits it": objstoretest.Omitted | objstoretest.Cold,
	} {
		store := received(0, one.History, two.History)
		store.Set(StartKey(root, 2), fault)
		found := func(target Target, names int) string {
			lessHeld(t, names)
			c, err := Find(t.Context(), store, root, bases, Progress{}, target)
			return fmt.Sprintf("timeline %d from %q to %s with %d segments, failed: %t, refused: %t", c.Timeline, c.Base.Key, c.Reached, len(c.Links), err != nil, IsRefusal(err))
		}
		for _, target := range targets {
			if whole, part := found(target, 2_000_000), found(target, 120); part != whole {
				t.Errorf("the start is %s, %s: a part has %s, and the whole timeline has %s", name, target, part, whole)
			}
		}
	}
}

// The members were replaced by older data with the same cluster ID. The operator saved a base snapshot for timeline 2, and was killed before it wrote the
// start of that. If a replay of timeline 1 began with this snapshot, a user would get the data of both histories mixed.
func TestABaseWithoutTheStartOfItsTimelineServesNoOlderOne(t *testing.T) {
	began := base(5, 5)
	began.Key, began.Captured, began.Stored = "began", true, began.Point.At
	one := newHistory(1, began).segment(20).segment(40).segment(60)
	for revision := int64(6); revision <= 70; revision++ {
		orphan := base(revision, 1000)
		orphan.Key, orphan.Captured, orphan.Stored = "orphan", true, orphan.Point.At
		bases := []Base{began, orphan}
		if _, err := Find(t.Context(), objstoretest.NewMemory(), root, bases, Progress{}, Target{Revision: revision}); !IsRefusal(err) {
			t.Fatalf("an archive without any timeline: %v", err)
		}
		store := received(0, one.History)
		for target := int64(5); target <= 70; target++ {
			c, err := Find(t.Context(), store, root, bases, Progress{}, Target{Revision: target})
			if err == nil && c.Base.Key == orphan.Key && (len(c.Links) > 0 || target != revision) {
				t.Errorf("revision %d of timeline %d is restored from the snapshot of revision %d of a later history with %d segments", target, c.Timeline, revision, len(c.Links))
			}
		}
		s, err := Look(t.Context(), store, root, bases, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Ranges {
			if r.From.Revision == revision && r.To.Revision > revision {
				t.Errorf("the status lists %+v, which begins with the snapshot of a later history", r)
			}
		}
	}
}
