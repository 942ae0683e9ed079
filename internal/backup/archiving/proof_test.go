package archiving

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// A damaged range may be recoverable only from the objects that retention would delete.
func TestNothingIsDeletedWhileTheArchiveIsNotProven(t *testing.T) {
	w := attempttest.NewWorld(t)
	w.Store = attempttest.StoredThen{Store: w.Store}
	s := statetest.Series(func(s *state.State) {
		s.Spec.BackupPolicy.MaxBackups = 1
		s.Spec.Continuous = &v1beta2.ContinuousArchive{Window: "1ns"}
	})
	present := time.Now()
	for hour := range 4 {
		w.Now = statetest.At(present.Add(time.Duration(hour-10) * time.Hour))
		s.Status.Snapshot = w.Attempt(s).Snapshot
		if hour == 1 {
			s.Status.LastArchiveProof = &v1beta2.ArchiveProof{Result: v1beta2.ProofFailed, From: statetest.EarlierOf(s)}
		}
	}
	before := len(w.Keys())
	s.Status.LastArchiveProof.Result = v1beta2.ProofPassed
	w.Now = statetest.At(present)
	r := w.Attempt(s)
	if after := len(w.Keys()); before < 6 || after >= before || r.Pruned == 0 {
		t.Errorf("%d objects while the proof had failed, %d after it passed, %d deleted", before, after, r.Pruned)
	}
	k := &keeper{job: &runner{Clients: &clients.Clients{Now: time.Now}}, Archiver: &Archiver{spec: Spec{job: state.JobSpec{Distrusted: &v1beta2.ArchiveProof{}}}}, outdated: []string{"segment"}}
	if k.prune(t.Context()); len(k.outdated) != 1 {
		t.Error("a segment was deleted")
	}
}

// After a snapshot, the operator lists the outdated segments once. It may take minutes to delete them. The restore test of the newest snapshot
// may fail during that time.
func TestNoSegmentIsDeletedAfterTheNewestSnapshotHasFailedItsTest(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*state.JobSpec)
		left   int
	}{
		"the test passed": {func(*state.JobSpec) {}, 0},
		"the test failed, and the spec verifies each snapshot": {func(o *state.JobSpec) { o.Doubted, o.Keep.Verify = true, true }, 1},
		"the test failed, and the spec has restore tests":      {func(o *state.JobSpec) { o.Doubted, o.Keep.Tests = true, true }, 1},
		"the test failed, and the spec asks for no tests":      {func(o *state.JobSpec) { o.Doubted = true }, 0},
	} {
		w := attempttest.NewWorld(t)
		k := &keeper{job: &runner{Clients: w.Clients, spool: w.Spool}, Archiver: &Archiver{}, store: w.Store, outdated: []string{"segment"}}
		test.change(&k.spec.job)
		if k.prune(t.Context()); len(k.outdated) != test.left {
			t.Errorf("%s: %d segments are left, want %d", name, len(k.outdated), test.left)
		}
	}
}

// The status listed the points in deleted segments until the next snapshot. A store that keeps deleted objects must not be listed again and
// again.
func TestTheArchiveIsSurveyedAgainAfterADeletion(t *testing.T) {
	w := attempttest.NewWorld(t)
	k := &keeper{job: &runner{Clients: w.Clients, spool: w.Spool}, Archiver: &Archiver{}, store: w.Store}
	for range limits.Deletions + 1 {
		k.outdated = append(k.outdated, "segment")
	}
	for i, want := range []bool{false, true, false} {
		if got := k.prune(t.Context()); got != want {
			t.Errorf("deletion %d: the archive is surveyed again: %t, want %t", i+1, got, want)
		}
	}
	k.outdated = []string{"segment"}
	if k.prune(t.Context()) {
		t.Error("the archive is surveyed again for the same snapshot")
	}
}
