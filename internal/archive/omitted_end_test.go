package archive

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// Timeline 2 repeats the revisions 41 to 60 of timeline 1 with other data. A listing that lags behind omits its end, or all of it. A restore took the
// data of timeline 1 at a revision that only the omitted part has.
func TestAnOmittedEndOfATimelineRestoresNoOlderHistory(t *testing.T) {
	first := newHistory(1, base(10, 10)).segment(100)
	second := newHistory(2, base(40, 200))
	second.shift = 160
	second.segment(45).segment(50).segment(55).segment(60)
	kept := base(40, 200)
	kept.Key = second.Start.BaseKey
	bases := []Base{base(10, 10), kept}
	store := storing(first.History, second.History)
	all := []string{StartKey(root, 2)}
	for _, l := range second.Links {
		all = append(all, l.Key)
	}
	for name, omitted := range map[string][]string{
		"none": nil, "the last segment": all[4:], "the last three": all[2:], "all segments": all[1:], "the timeline": all, "the start and the last segment": {all[0], all[4]},
	} {
		for _, target := range []Target{{Revision: 42}, {Revision: 58}, {Revision: 60}, {Time: at(218)}} {
			c, err := Find(t.Context(), with(store, objstoretest.Omitted, omitted...), root, bases, Progress{}, target)
			if err != nil || c.Timeline != 2 {
				t.Errorf("a listing omits %s: %s is taken from timeline %d, %v", name, target, c.Timeline, err)
			}
		}
		if c, err := Find(t.Context(), with(store, objstoretest.Omitted, omitted...), root, bases, Progress{}, Target{Revision: 61}); err != nil || c.Timeline != 1 {
			t.Errorf("a listing omits %s: a revision that only timeline 1 had: timeline %d, %v", name, c.Timeline, err)
		}
	}
}

// The end of timeline 2 is lost. Only a snapshot, or the status of the EtcdBackup, shows that it had the revision.
func TestALaterSnapshotOrTheStatusShowsThatATimelineWentOn(t *testing.T) {
	first := newHistory(1, base(10, 10)).segment(100)
	second := newHistory(2, base(40, 200))
	second.shift = 160
	second.segment(45).segment(50)
	kept, later := base(40, 200), base(70, 230)
	kept.Key, later.Key = second.Start.BaseKey, "later"
	store, histories := storing(first.History, second.History), []History{first.History, second.History}
	bases := []Base{base(10, 10), kept}
	archived := Progress{2, Point{70, at(230)}}
	whole := []string{StartKey(root, 2), second.Links[0].Key, second.Links[1].Key}
	gone := storing(first.History)
	for name, find := range map[string]func() (Choice, error){
		"a snapshot, Find": func() (Choice, error) {
			return Find(t.Context(), store, root, append(bases, later), Progress{}, Target{Revision: 60})
		},
		"a snapshot, Select": func() (Choice, error) { return Select(histories, append(bases, later), Target{Revision: 60}) },
		"the status":         func() (Choice, error) { return Find(t.Context(), store, root, bases, archived, Target{Revision: 60}) },
		"the status, none listed": func() (Choice, error) {
			return Find(t.Context(), with(store, objstoretest.Omitted, whole...), root, bases, archived, Target{Revision: 60})
		},
		"the status, all is lost": func() (Choice, error) { return Find(t.Context(), gone, root, bases, archived, Target{Revision: 60}) },
	} {
		if c, err := find(); !IsRefusal(err) {
			t.Errorf("%s: timeline %d, %v", name, c.Timeline, err)
		}
	}
	for name, find := range map[string]func() (Choice, error){
		"nothing":    func() (Choice, error) { return Find(t.Context(), store, root, bases, Progress{}, Target{Revision: 60}) },
		"the status": func() (Choice, error) { return Find(t.Context(), store, root, bases, archived, Target{Revision: 75}) },
	} {
		if c, err := find(); err != nil || c.Timeline != 1 {
			t.Errorf("%s shows a later revision, so that of timeline 1 is the newest: timeline %d, %v", name, c.Timeline, err)
		}
	}
}

// A store that fails does not say that there is no later segment.
func TestAFaultWhileTheEndIsAskedForRestoresNoOlderHistory(t *testing.T) {
	first := newHistory(1, base(10, 10)).segment(100)
	second := newHistory(2, base(40, 200))
	second.shift = 160
	second.segment(45).segment(50)
	kept := base(40, 200)
	kept.Key = second.Start.BaseKey
	store := storing(first.History, second.History)
	last := second.Links[1].Key
	failing := with(store, objstoretest.Omitted|objstoretest.Lost, last)
	if c, err := Find(t.Context(), failing, root, []Base{base(10, 10), kept}, Progress{}, Target{Revision: 48}); err == nil || IsRefusal(err) {
		t.Errorf("timeline %d, %v", c.Timeline, err)
	}
}
