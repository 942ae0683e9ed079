package status

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// A restore test failed in the store that the spec named before. The user has named another endpoint since then, where a bucket has the same name.
// The first snapshot there may have the path of the one that failed. If that test counted, Ready would say until the next one, which is in a week,
// that the newest snapshot cannot be restored, and no old part of the archive would be deleted.
func TestAFailedRestoreTestOfAFormerEndpointSaysNothingAboutTheNewOne(t *testing.T) {
	s := statetest.Series(statetest.Proven(time.Hour), func(s *state.State) {
		s.Spec.S3.Endpoint = "https://two.example.com"
		s.Spec.Drill = &v1beta2.DrillPolicy{Schedule: "@weekly"}
		s.Status.SnapshotStore = "S3 https://one.example.com"
		s.Status.LastDrill = &v1beta2.BackupDrill{Path: s.Status.Snapshot.Path, Result: v1beta2.DrillFailed, Time: *state.Second(statetest.T0.Add(-time.Minute)), Message: "Page 2 is damaged."}
	})
	var problem *state.Failure
	if s.Target, problem = state.TargetOf(s.Namespace, s.Name, s.Spec); problem != nil {
		t.Fatal(problem)
	}
	s.Generation++ // of the new endpoint
	step, _ := plan.Plan(s)
	s.Status = NewStatus(s, step, nil)
	if _, takes := step.(plan.TakeSnapshot); !takes {
		t.Fatalf("%T", step)
	}
	s.Attempt = &state.Attempt{Generation: s.Generation, Number: 1, StartedAt: s.Now, Result: &state.Result{EndedAt: s.Now, Snapshot: statetest.SnapshotAt("bucket/dir/snap.db/ns/b/0000000000000001/y.db", s.Now)}}
	step, _ = plan.Plan(s)
	s.Status, s.Attempt = NewStatus(s, step, nil), nil
	if c := state.ConditionOf(s.Status.Conditions, v1beta2.ConditionReady); c.Status != metav1.ConditionTrue {
		t.Errorf("%T: Ready %s %s: %s; the next test is at %s", step, c.Status, c.Reason, c.Message, s.Status.NextDrillTime)
	}
	if state.JobSpecOf(s).Doubted {
		t.Error("the archive of the new store is not pruned because of the former one")
	}
}
