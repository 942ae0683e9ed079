package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// refusing answers 403 for some objects, and lists them as any other.
type refusing struct {
	objstore.Store
	keys map[string]bool
}

func (r refusing) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if r.keys[key] {
		return nil, fmt.Errorf("403: %w", fs.ErrPermission)
	}
	return r.Store.Get(ctx, key)
}

// received returns a store that received each object when it was written. The clock of the archiver was ahead of that of the store in timeline 1.
func received(ahead time.Duration, histories ...History) *objstoretest.Memory {
	m := objstoretest.NewMemory()
	var now time.Time
	m.Now = func() time.Time { return now }
	for _, h := range histories {
		now = h.Start.Base.At.Add(time.Millisecond)
		m.Place(StartKey(root, h.Start.Timeline), h.Start.Encode())
		for _, link := range h.Links {
			if now = link.Header.To().At; h.Start.Timeline == 1 {
				now = now.Add(-ahead)
			}
			m.Place(link.Key, link.Header.Encode())
		}
	}
	return m
}

// The clock of the operator was ahead during timeline 1. Then the members were replaced by older data, and timeline 2 began. Its start cannot be
// read, or was deleted. A restore of a revision that only timeline 1 had began with a snapshot of timeline 2: the user got the data of both mixed.
func TestNoBaseOfATimelineWithoutAReadableStartServesAnOlderOne(t *testing.T) {
	stored := func(b Base, key string) Base {
		b.Key, b.Captured, b.Stored = key, true, b.Point.At
		return b
	}
	began, surely, second, later := stored(base(5, 5), "began"), stored(base(30, 30), "surely"), stored(base(10, 1000), "second"), stored(base(25, 1025), "later")
	one := newHistory(1, began)
	one.shift = 10_000
	one.segment(20).segment(40).segment(60)
	two := newHistory(2, second)
	two.shift = 1000
	two.segment(20).segment(30)
	for name, fault := range map[string]objstoretest.Fault{"cold": objstoretest.Cold, "lost": objstoretest.Lost, "deleted": objstoretest.Gone} {
		store := received(10_000*time.Second, one.History, two.History)
		store.Set(StartKey(root, 2), fault)
		c, err := Find(t.Context(), store, root, []Base{began, surely, second, later}, Progress{}, Target{Revision: 50})
		if err != nil || c.Timeline != 1 || c.Base.Key != surely.Key {
			t.Errorf("%s: timeline %d from the snapshot %q: %v", name, c.Timeline, c.Base.Key, err)
		}
		without, err := Find(t.Context(), store, root, []Base{second, later}, Progress{}, Target{Revision: 50})
		if err == nil || name != "deleted" && IsRefusal(err) {
			t.Errorf("%s: no snapshot is surely of timeline 1, and it is restored from %q: %v", name, without.Base.Key, err)
		}
		s, err := Look(t.Context(), store, root, []Base{second, later}, 10)
		if err != nil || len(s.Ranges) > 0 {
			t.Errorf("%s: the status lists %+v: %v", name, s.Ranges, err)
		}
	}
}

// One segment at the beginning of the newest timeline could not be read. The cluster had been restored before, so older revisions were in an older
// timeline, of which all could be read. The status listed them, and no restore of them was possible.
func TestAnUnreadableSegmentOfANewerTimelineHidesNoOlderRevision(t *testing.T) {
	first := newHistory(1, base(10, 10)).segment(20).segment(30)
	second := newHistory(2, base(40, 40)).segment(50).segment(60).segment(70)
	bases := []Base{base(10, 10), base(25, 25), base(40, 40), base(60, 60)}
	for name, faulty := range map[string]func(*objstoretest.Memory, string) objstore.Store{
		"refused": func(m *objstoretest.Memory, key string) objstore.Store {
			return refusing{m, map[string]bool{key: true}}
		},
		"lost": func(m *objstoretest.Memory, key string) objstore.Store { m.Set(key, objstoretest.Lost); return m },
		"cold": func(m *objstoretest.Memory, key string) objstore.Store { m.Set(key, objstoretest.Cold); return m },
	} {
		for i, link := range second.Links {
			store := faulty(storing(first.History, second.History), link.Key)
			survey, err := Look(t.Context(), store, root, bases, 10)
			if err != nil || !within(survey.Ranges, 1, 15) || survey.Ranges[0].Hidden != nil {
				t.Errorf("%s, link %d: ranges %+v, %v", name, i, survey.Ranges, err)
			}
			if c, err := Find(t.Context(), store, root, bases, Progress{}, Target{Revision: 15}); err != nil || c.Timeline != 1 {
				t.Errorf("%s, segment %d of timeline 2: the survey lists revision 15, and it cannot be restored (a refusal: %t): %v", name, i, IsRefusal(err), err)
			}
			if c, err := Find(t.Context(), store, root, bases, Progress{}, Target{Revision: link.Header.First}); err == nil && c.Base.Point.Revision <= link.Header.First-1 {
				t.Errorf("%s, segment %d of timeline 2: its first revision is restored from revision %d without it", name, i, c.Base.Point.Revision)
			}
		}
	}
}

// The store may answer 500 for one segment for some minutes. A restore of its revisions must not fail for good, because it can be tried again.
func TestARevisionInASegmentThatTheStoreLostIsTriedAgain(t *testing.T) {
	h := newHistory(1, base(10, 10)).segment(20).segment(30)
	for i, link := range h.Links {
		store := storing(h.History)
		store.Set(link.Key, objstoretest.Lost)
		for _, target := range []Target{{Revision: link.Header.Last}, {Time: at(int(link.Header.Last))}} {
			if _, err := Find(t.Context(), store, root, []Base{base(10, 10)}, Progress{}, target); !errors.Is(err, objstoretest.ErrLost) || IsRefusal(err) {
				t.Errorf("segment %d, %s: %v", i, target, err)
			}
		}
	}
}

// A listing omits the start of a timeline, or all of it, and the store refuses to return the start. No survey ended any more. What the timeline had is
// not known, so older data must not be taken for it.
func TestARefusedStartThatTheListingOmitsEndsNoSurvey(t *testing.T) {
	first := newHistory(1, base(5, 5)).segment(50)
	second := newHistory(2, base(10, 100))
	second.shift = 90
	second.segment(20).segment(30)
	bases := []Base{base(5, 5)}
	for name, omitted := range map[string][]string{
		"the start": {StartKey(root, 2)},
		"all":       {StartKey(root, 2), second.Links[0].Key, second.Links[1].Key},
	} {
		store := storing(first.History, second.History)
		for _, key := range omitted {
			store.Set(key, objstoretest.Omitted|objstoretest.Cold)
		}
		s, err := Look(t.Context(), store, root, bases, 10)
		if err != nil || len(s.Unreadable) != 1 || len(s.Ranges) != 1 || !hidden(s.Ranges[0].Hidden, 25) {
			t.Errorf("%s: ranges %+v, unreadable %v: %v", name, s.Ranges, s.Unreadable, err)
		}
		if c, err := Find(t.Context(), store, root, bases, Progress{}, Target{Revision: 25}); err == nil || IsRefusal(err) {
			t.Errorf("%s: revision 25 is taken from timeline %d: %v", name, c.Timeline, err)
		}
	}
}
