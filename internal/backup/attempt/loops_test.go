package attempt_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
)

// draftOf returns the content of a draft of an EtcdBackup.
func draftOf(t *testing.T, uid string) string {
	t.Helper()
	m := snapshot.Manifest{FormatVersion: 1, Size: 4, SHA256: strings.Repeat("0", 64), CreatedAt: statetest.T0, Attempt: uid + "/1"}
	content, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// One locked object kept all those after it: whichever loop deletes it, the others are deleted.
func TestNoLoopEndsAtAnObjectThatTheStoreRefusesToDelete(t *testing.T) {
	const count = 5
	series := snapshot.Series{Folder: "f", Namespace: "ns", Cluster: "c", ClusterID: 1}
	key := func(i int) string { return series.Key(statetest.T0.Add(time.Duration(i)*time.Hour), int64(i)) }
	root := archive.Root("f", "ns", "c")
	o := state.JobSpec{Namespace: "ns", Cluster: "c", UID: "uid"}
	o.Target.Key = "f"
	for name, loop := range map[string]struct {
		name func(i int) string
		also func(i int) string // another object that must be there; empty for none
		run  func(ctx context.Context, m *objstoretest.Memory) error
	}{
		"old snapshots": {name: key, run: func(ctx context.Context, m *objstoretest.Memory) error {
			_, err := attempt.Prune(ctx, m, m.Keys())
			return err
		}},
		"what a killed operator left": {name: key, also: func(i int) string { return key(i) + ".draft-0000000000000000" }, run: func(ctx context.Context, m *objstoretest.Memory) error {
			_, err := attempt.Sweep(ctx, m, series, "uid", time.Now().Add(time.Hour), time.Now(), true)
			return err
		}},
		"drafts of a one-shot": {name: func(i int) string { return fmt.Sprintf("one.db.draft-%016x", i) }, run: func(ctx context.Context, m *objstoretest.Memory) error {
			return save.DropDrafts(ctx, m, "one.db", "uid")
		}},
		"objects of the clock": {name: func(i int) string { return fmt.Sprintf("clock-%d", i) }, run: func(ctx context.Context, m *objstoretest.Memory) error {
			return attempt.DeleteClocks(ctx, m, "clock-")
		}},
		"the archive of a deleted EtcdBackup": {name: func(i int) string { return archive.LinkKey(root, 1, statetest.T0, int64(2+i)) }, run: func(ctx context.Context, m *objstoretest.Memory) error {
			names := archive.Names{Timeline: 1, Started: true}
			for i := range count {
				names.Links = append(names.Links, archive.NameOf(1, statetest.T0, int64(2+i)))
			}
			return attempt.PurgeTimeline(ctx, o, m, names, nil)
		}},
	} {
		for locked := range count {
			m := objstoretest.NewMemory()
			start := archive.NewStart(1, 1, archive.Base{Point: archive.Point{Revision: 1, At: statetest.T0}}, "test")
			start.Writer = "uid"
			attempttest.Place(t, m, archive.StartKey(root, 1), string(start.Encode()))
			m.Set(archive.StartKey(root, 1), objstoretest.Locked)
			for i := range count {
				attempttest.Place(t, m, loop.name(i), draftOf(t, "uid"))
				if loop.also != nil {
					attempttest.Place(t, m, loop.also(i), draftOf(t, "uid"))
				}
			}
			m.Set(loop.name(locked), objstoretest.Locked)
			err := loop.run(t.Context(), m)
			for i := range count {
				if there := m.Has(loop.name(i)); there != (i == locked) {
					t.Errorf("%s: number %d is locked, and number %d is still there: %v; error %v", name, locked, i, there, err)
				}
			}
		}
	}
}

// A bucket keeps each object for a time that covers more unneeded snapshots than the operator tried in vain. Nothing was ever deleted.
func TestABucketWithARetentionPeriodIsPruned(t *testing.T) {
	const hours, period, kept = 60, 25, 3
	w := attempttest.NewWorld(t)
	m := objstoretest.NewMemory()
	w.Store = m
	var last string
	for hour := range hours {
		now := statetest.T0.Add(time.Duration(hour) * time.Hour)
		w.Now, m.Now = statetest.At(now), statetest.At(now)
		r := w.Attempt(statetest.Series(statetest.Keep(kept)))
		if r.Failure != nil {
			t.Fatalf("%+v", r)
		}
		last = r.Snapshot.Path
		for _, key := range m.Keys() {
			named, snapshots := snapshot.ParseKey(key)
			m.Set(key, 0)
			if snapshots && now.Sub(named.Time) < period*time.Hour {
				m.Set(key, objstoretest.Locked)
			}
		}
	}
	var left []string
	for _, key := range m.Keys() {
		if _, ok := snapshot.ParseKey(key); ok {
			left = append(left, key)
		}
	}
	if len(left) > period+2 || !strings.HasSuffix(last, left[len(left)-1]) {
		t.Errorf("%d snapshots are left, the newest is %s, and the period covers %d", len(left), left[len(left)-1], period)
	}
	deleted := slices.DeleteFunc(m.Deleted(), func(k string) bool { _, ok := snapshot.ParseKey(k); return !ok })
	if !slices.IsSorted(deleted) {
		t.Errorf("not the oldest first: %q", deleted)
	}
}

// Two Kubernetes have the same names and the same cluster ID, and share a folder. One of them took no snapshots, and reported no failure.
func TestASnapshotOfAnotherKubernetesIsNotTakenForTheOwnOne(t *testing.T) {
	w := attempttest.NewWorld(t)
	east := func(s *state.State) { s.UID, s.CreatedAt = "east", statetest.T0.Add(-time.Hour) }
	west := func(s *state.State) { s.UID, s.CreatedAt = "west", statetest.T0.Add(-time.Hour) }
	if r := w.Attempt(statetest.Series(east)); r.Failure != nil || r.Found {
		t.Fatalf("east: %+v", r)
	}
	w.Now = statetest.At(statetest.T0.Add(time.Minute))
	if r := w.Attempt(statetest.Series(west)); r.Failure != nil || r.Found {
		t.Errorf("west has reported the snapshot of east as its own: %+v", r.Snapshot)
	}
	again := func(s *state.State) { s.UID, s.CreatedAt = "new", statetest.T0.Add(2*time.Minute) }
	w.Now = statetest.At(statetest.T0.Add(3 * time.Minute))
	if r := w.Attempt(statetest.Series(again)); r.Failure != nil || !r.Found {
		t.Errorf("an EtcdBackup that was created again does not have its earlier snapshots: %+v", r)
	}
}
