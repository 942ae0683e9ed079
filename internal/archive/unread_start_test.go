package archive

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// Members that no EtcdCluster manages were restored from older data by etcdutl, with the same peer URLs and token: the cluster ID is the same, and
// timeline 2 began. Then the archive was switched off, and snapshots went on: the cluster had the revisions 31 to 60, as the snapshot "late" shows. A
// lifecycle rule has moved the start of timeline 2. Revision 50 is that of timeline 2. With a start that can be read, a restore refuses it.
func TestAnUnreadableStartBringsNoRevisionOfAnOlderHistory(t *testing.T) {
	stored := func(b Base, key string) Base {
		b.Key, b.Captured, b.Stored = key, true, b.Point.At
		return b
	}
	began, second, late := stored(base(5, 5), "began"), stored(base(10, 1000), "second"), stored(base(60, 1500), "late")
	one := newHistory(1, began)
	one.segment(20).segment(40).segment(60)
	two := newHistory(2, second)
	two.shift = 1000
	two.segment(20).segment(30)
	bases := []Base{began, second, late}
	for name, fault := range map[string]objstoretest.Fault{"readable": 0, "cold": objstoretest.Cold, "lost": objstoretest.Lost, "deleted": objstoretest.Gone} {
		store := received(0, one.History, two.History)
		store.Set(StartKey(root, 2), fault)
		c, err := Find(t.Context(), store, root, bases, Progress{}, Target{Revision: 50})
		if err == nil {
			t.Errorf("%s: the newest history had revision 50, and that of timeline %d is restored from %q with %d segments", name, c.Timeline, c.Base.Key, len(c.Links))
		}
		s, err := Look(t.Context(), store, root, bases, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Ranges {
			if r.Timeline == 1 && r.From.Revision <= 50 && 50 <= r.To.Revision && !hidden(r.Hidden, 50) {
				t.Errorf("%s: the status lists revision 50 of timeline 1: %+v", name, r)
			}
		}
	}
}

// The clock of the operator was ahead by 3 hours in timeline 1. A person deleted the start of timeline 2 (or it is missing in a copy). A time
// of timeline 2 is then taken from timeline 1.
func TestADeletedStartBringsNoTimeOfAnOlderHistory(t *testing.T) {
	stored := func(b Base, key string) Base {
		b.Key, b.Captured, b.Stored = key, true, b.Point.At
		return b
	}
	began, second := stored(base(5, 5), "began"), stored(base(10, 1000), "second")
	one := newHistory(1, began)
	one.shift = 10_000
	one.segment(20).segment(40).segment(60)
	two := newHistory(2, second)
	two.shift = 1000
	two.segment(20).segment(9050)
	for name, fault := range map[string]objstoretest.Fault{"readable": 0, "cold": objstoretest.Cold, "deleted": objstoretest.Gone} {
		store := received(10_000*time.Second, one.History, two.History)
		store.Set(StartKey(root, 2), fault)
		c, err := Find(t.Context(), store, root, []Base{began, second}, Progress{}, Target{Time: at(10_040)})
		if err == nil && c.Timeline == 1 {
			t.Errorf("%s: a time of timeline 2 is taken from timeline 1, revision %d", name, c.Reached.Revision)
		}
	}
}
