package inventory

import (
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// The copier of snapshots copies the newest one first, so the second location has received the oldest one last. Two EtcdRestores waited. What the
// older of their bases needs was deleted, because the store had received it later.
func TestOfTwoSelectedBasesTheOneIsKeptWhoseChangesComeFirst(t *testing.T) {
	w := newKept(t, snapshot.Passed)
	known := catalog.Known{}
	f, err := Of(t.Context(), w, w.O, known)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Survey.Drop()
	outdated := func(selected ...archive.Base) []archive.Name {
		names, _, err := OutdatedBy(t.Context(), w, w.O, f.Survey, f.Index, known, selected...)
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	older, newer := f.Bases[len(f.Bases)-1], f.Bases[len(f.Bases)-2]
	newer.Stored = older.Stored.Add(-time.Minute)
	if alone, both := outdated(older), outdated(older, newer); len(both) > len(alone) {
		t.Errorf("with the base of revision %d, %v is outdated, and with that of revision %d, too, it is %v", older.Point.Revision, alone, newer.Point.Revision, both)
	}
	slices.Reverse(f.Bases)
	if alone, both := outdated(older), outdated(newer, older); len(both) > len(alone) {
		t.Errorf("in the other order, %v is outdated", both)
	}
}

// A waiting EtcdRestore may begin with a snapshot whose timeline the second location does not have yet. That location has received it after the base with which the
// window begins, because the newest snapshot is copied first. So its timeline was not copied, and what is before the base was deleted.
func TestASelectedBaseOfAnUnknownTimelineIsComparedByTheTimeItWasTaken(t *testing.T) {
	w := newKept(t, snapshot.Passed)
	known := catalog.Known{}
	f, err := Of(t.Context(), w, w.O, known)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Survey.Drop()
	older := f.Bases[len(f.Bases)-1]
	older.ClusterID, older.Stored = "00000000000000aa", w.At
	names, _, err := OutdatedBy(t.Context(), w, w.O, f.Survey, f.Index, known, older)
	if err != nil || len(names) > 0 {
		t.Errorf("%v is outdated: %v", names, err)
	}
}
