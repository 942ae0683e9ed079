package backup

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// A proof failed in the folder that the spec named before, in the same bucket. The user has named another folder since then, so that the operator
// begins a new archive, and has kept the old snapshots. If that proof counted, the new folder would grow without a limit, Ready would stay false,
// and the new archive would never be proven.
func TestAFailedProofOfAFormerFolderHoldsNothingInTheNewOne(t *testing.T) {
	w := newWorld(t)
	w.store = storedThen{w.store}
	s := series(func(s *State) {
		s.Spec.BackupPolicy.MaxBackups = 1
		s.Spec.Continuous = &v1beta2.ContinuousArchive{Window: "1ns"}
	})
	former := "former/ns/b/0000000000000abc/p.db"
	if err := w.store.Put(t.Context(), former, objstore.NewMetadata([]byte("kept"))); err != nil {
		t.Fatal(err)
	}
	present := time.Now()
	s.Status.LastArchiveProof = &v1beta2.ArchiveProof{Result: v1beta2.ProofFailed, From: s.Target.Bucket + "/" + former, To: s.Target.Bucket + "/former/ns/b/0000000000000abc/q.db",
		Revision: 9, Time: metav1.Time{Time: present.Add(-48 * time.Hour)}, Message: "Revision 2 is damaged."}
	s.Status.SnapshotStore = s.Target.Store()
	s = holdsNothing(t, w, s, present)
	if _, _, err := jobSpecOf(s).choose(t.Context(), w.store, 100); errors.Is(err, errStillFailed) {
		t.Errorf("the archive in the new folder is never proven: %v", err)
	}
}

// A restore test failed in the store that the spec named before. The user has named another endpoint since then, where a bucket has the same name.
// The first snapshot there may have the path of the one that failed. If that test counted, Ready would say until the next one, which is in a week,
// that the newest snapshot cannot be restored, and no old part of the archive would be deleted.
func TestAFailedRestoreTestOfAFormerEndpointSaysNothingAboutTheNewOne(t *testing.T) {
	s := series(proven(time.Hour), func(s *State) {
		s.Spec.S3.Endpoint = "https://two.example.com"
		s.Spec.Drill = &v1beta2.DrillPolicy{Schedule: "@weekly"}
		s.Status.SnapshotStore = "S3 https://one.example.com"
		s.Status.LastDrill = &v1beta2.BackupDrill{Path: s.Status.Snapshot.Path, Result: v1beta2.DrillFailed, Time: *second(t0.Add(-time.Minute)), Message: "Page 2 is damaged."}
	})
	var problem *Failure
	if s.Target, problem = target(s.Namespace, s.Name, s.Spec); problem != nil {
		t.Fatal(problem)
	}
	s.Generation++ // of the new endpoint
	step, _ := Plan(s)
	s.Status = NewStatus(s, step, nil)
	if _, takes := step.(TakeSnapshot); !takes {
		t.Fatalf("%T", step)
	}
	s.Attempt = &Attempt{Generation: s.Generation, Number: 1, StartedAt: s.Now, Result: &Result{EndedAt: s.Now, Snapshot: snapshotAt("bucket/dir/snap.db/ns/b/0000000000000001/y.db", s.Now)}}
	step, _ = Plan(s)
	s.Status, s.Attempt = NewStatus(s, step, nil), nil
	if c := conditionOf(s.Status.Conditions, v1beta2.ConditionReady); c.Status != metav1.ConditionTrue {
		t.Errorf("%T: Ready %s %s: %s; the next test is at %s", step, c.Status, c.Reason, c.Message, s.Status.NextDrillTime)
	}
	if jobSpecOf(s).Doubted {
		t.Error("the archive of the new store is not pruned because of the former one")
	}
}
