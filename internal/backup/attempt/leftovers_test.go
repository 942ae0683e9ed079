package attempt_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

const unfinished = seriesFolder + "20260102T110000Z-00000000000000000009.db"

// The folder is shared with an operator in another Kubernetes, which has written its first object but not the manifest yet.
func TestAPurgeKeepsObjectsThatMayBeOfAnotherOperator(t *testing.T) {
	for name, leave := range map[string]func(*attempttest.World){
		"an object without a draft": func(w *attempttest.World) {
			if err := w.Store.Put(w.T.Context(), unfinished, strings.NewReader("data")); err != nil {
				w.T.Fatal(err)
			}
		},
		"an object with the draft of another EtcdBackup": func(w *attempttest.World) { w.Leaves(unfinished, "other") },
	} {
		t.Run(name, func(t *testing.T) {
			w := attempttest.NewWorld(t)
			w.Attempt(statetest.Series())
			leave(w)
			w.Now = statetest.At(time.Now().Add(attempt.OrphanAge + time.Minute))
			r := w.Purges(statetest.Series())
			if !slices.Contains(w.Keys(), unfinished) {
				t.Errorf("it is deleted: %+v", r)
			}
			if r.Failure != nil || r.Pruned != 1 || !strings.Contains(r.PruneProblem, unfinished) {
				t.Errorf("it is not reported, or delays the deletion: %+v", r)
			}
		})
	}
}

func TestAPurgeDeletesWhatItsOwnKilledOperatorLeft(t *testing.T) {
	w := attempttest.NewWorld(t)
	w.Attempt(statetest.Series())
	w.Leaves(unfinished, "u")
	w.Now = time.Now
	if r := w.Purges(statetest.Series()); r.Failure == nil || r.Failure.Reason != v1beta2.ReasonRemovingSnapshots || len(w.Keys()) != 2 {
		t.Errorf("it does not wait until the upload can have ended: %+v, left %q", r, w.Keys())
	}
	w.Now = statetest.At(time.Now().Add(attempt.OrphanAge + time.Second))
	if r := w.Purges(statetest.Series()); r.Failure != nil || r.PruneProblem != "" || len(w.Keys()) != 0 {
		t.Errorf("%+v, left %q", r, w.Keys())
	}
}

// A person or a replication has lost the manifests. Even if many manifests are missing, the objects may be snapshots
// and not leftovers.
func TestAnOldSnapshotWithoutItsManifestIsKept(t *testing.T) {
	w := attempttest.NewWorld(t)
	present := time.Now()
	w.Now = statetest.At(present.Add(-30 * time.Hour))
	old := w.Attempt(statetest.Series())
	key := strings.TrimPrefix(old.Snapshot.Path, "bucket/")
	if err := w.Store.Delete(t.Context(), snapshot.ManifestKey(key)); err != nil {
		t.Fatal(err)
	}
	w.Store = aged{Store: w.Store, keys: w.Keys()}
	w.Now = statetest.At(present)
	r := w.Attempt(statetest.Series())
	if !slices.Contains(w.Keys(), key) {
		t.Errorf("a snapshot is deleted, without any retention in the spec; left %q", w.Keys())
	}
	if r.PruneReason != v1beta2.ReasonSnapshotsKept || !strings.Contains(r.PruneProblem, key) {
		t.Errorf("%s: %s", r.PruneReason, r.PruneProblem)
	}
}

func TestDraftsThatAreNotNeededAreDeletedAfterADay(t *testing.T) {
	w := attempttest.NewWorld(t)
	present := time.Now()
	w.Now = statetest.At(present.Add(-30 * time.Hour))
	done := strings.TrimPrefix(w.Attempt(statetest.Series()).Snapshot.Path, "bucket/")
	drafts := []string{w.Leaves(unfinished, "u"), w.Leaves(unfinished+".zst", "other")}
	for _, key := range []string{unfinished, unfinished + ".zst"} {
		if err := w.Store.Delete(t.Context(), key); err != nil { // the upload was never complete
			t.Fatal(err)
		}
	}
	committed := done + ".draft-0123456789abcdef"
	if err := w.Store.Put(t.Context(), committed, strings.NewReader("{}")); err != nil {
		t.Fatal(err)
	}
	w.Store = aged{Store: w.Store, keys: append(drafts, committed)}
	w.Now = statetest.At(present)
	w.Attempt(statetest.Series())
	if keys := w.Keys(); slices.Contains(keys, drafts[0]) || slices.Contains(keys, committed) || !slices.Contains(keys, drafts[1]) || !slices.Contains(keys, done) {
		t.Errorf("left %q", keys)
	}
}

// The node's clock was put forward after the snapshot that the annotation had asked for. The status was lost.
func TestASeriesThatFindsItsSnapshotPrunesByTheClockOfTheStore(t *testing.T) {
	w := attempttest.NewWorld(t)
	s := statetest.Series(func(s *state.State) {
		s.Spec.BackupPolicy.Retention = &v1beta2.Retention{KeepWithin: "1w"}
		s.Request = "now"
	})
	present := time.Now()
	for hour := range 2 {
		w.Now = statetest.At(present.Add(time.Duration(hour-4) * time.Hour))
		before := s
		before.Request = ""
		w.Attempt(before)
	}
	w.Now = statetest.At(present.Add(-2 * time.Hour))
	w.Attempt(s)
	before := len(w.Keys())
	w.Now = statetest.At(present.Add(240 * time.Hour))
	r := w.Attempt(s)
	if !r.Found || r.Pruned != 0 || len(w.Keys()) != before || !strings.Contains(r.PruneProblem, "ahead of the clock of the store") {
		t.Errorf("%+v; %d objects before, left %q", r, before, w.Keys())
	}
	w.Store = untimed{Store: w.Store}
	if r := w.Attempt(s); !r.Found || r.Pruned != 0 || r.PruneProblem == "" || len(w.Keys()) != before {
		t.Errorf("the clocks cannot be compared: %+v, left %q", r, w.Keys())
	}
}
