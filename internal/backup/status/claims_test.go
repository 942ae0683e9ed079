package status

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// A copy that is repeated without a pause lists both buckets many times a second, and keeps a worker busy.
func TestATimeInTheFutureRepeatsNoCopyWithoutAPause(t *testing.T) {
	future := &metav1.Time{Time: statetest.T0.Add(3 * time.Hour)}
	for name, c := range map[string]statetest.Change{
		"the old snapshots were deleted in the future": func(s *state.State) { s.Status.LastPruneTime = future },
		"the last snapshot was taken in the future": func(s *state.State) {
			s.Status.LastSuccessDate, s.Status.Snapshot.CreatedAt, s.Spec.BackupPolicy.Suspend = future, state.Stamp(future.Time), true
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := statetest.Series(statetest.Proven(time.Minute), statetest.OfKnownCluster, statetest.Copies, statetest.CopiedAt("a", state.Stamp(statetest.T0.Add(-time.Minute)), 0))
			s.Status.Snapshot.SHA256 = "a"
			c(&s)
			count := 0
			for i := range 60 {
				s.Now = statetest.T0.Add(time.Duration(i) * 10 * time.Second)
				step, is := planned(s).(plan.Copy)
				if !is {
					continue
				}
				count++
				s.Status = NewStatus(s, step, nil)
				s.Copy = &state.Attempt{Kind: state.KindCopy, Generation: 1, Number: step.Number, StartedAt: s.Now, Result: &state.Result{EndedAt: s.Now, Kept: []v1beta2.Snapshot{{SHA256: "z", CreatedAt: state.Stamp(statetest.T0.Add(-time.Minute))}}}}
				s.Status = NewStatus(s, plan.ReportCopy{}, nil)
				s.Copy = nil
			}
			if count > 4 {
				t.Errorf("%d copies in 10 minutes", count)
			}
		})
	}
}

// The list of snapshots and the result of the test are in one status, and must agree.
func TestTheStatusShowsTheResultOfTheLastTestAtItsSnapshot(t *testing.T) {
	s := statetest.Series(statetest.Proven(time.Minute), statetest.DrillsAt("@daily"))
	s.Status.Snapshot.RestoreTest = v1beta2.DrillPassed
	s.Status.Snapshots = []v1beta2.Snapshot{*s.Status.Snapshot}
	s.Attempt = &state.Attempt{Kind: state.KindDrill, Generation: 1, Number: 1, Result: &state.Result{EndedAt: statetest.T0, Drill: &v1beta2.BackupDrill{
		Path: s.Status.Snapshot.Path, Result: v1beta2.DrillFailed, Time: metav1.Time{Time: statetest.T0}, Message: "bad",
	}}}
	s.Status = NewStatus(s, plan.Report{}, nil)
	if s.Status.Snapshot.RestoreTest != v1beta2.DrillFailed || s.Status.Snapshots[0].RestoreTest != v1beta2.DrillFailed {
		t.Errorf("the snapshot has the result %s, and in the list %s", s.Status.Snapshot.RestoreTest, s.Status.Snapshots[0].RestoreTest)
	}
	s.Attempt, s.Spec.Drill = nil, nil
	ready := func() bool {
		return meta.IsStatusConditionTrue(NewStatus(s, plan.Scheduled{At: statetest.T0.Add(time.Hour)}, nil).Conditions, v1beta2.ConditionReady)
	}
	if ready() {
		t.Error("the series is Ready, and its newest snapshot cannot be restored")
	}
	s.Status.Snapshot.Path += ".newer"
	if !ready() {
		t.Error("without tests, a newer snapshot does not make the series Ready again")
	}
}
