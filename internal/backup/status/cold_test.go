package status

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// A restore test passed, and the proof of the archive after it could not be carried out. The status kept the result of the test before, or none.
func TestAPassedRestoreTestIsRecordedAlthoughTheProofWasNotCarriedOut(t *testing.T) {
	s := statetest.ArchivingState(t)
	drill := &v1beta2.BackupDrill{Path: s.Status.Snapshot.Path, Result: v1beta2.DrillPassed, Time: metav1.Time{Time: s.Now}, Message: "It can be restored."}
	s.Attempt = &state.Attempt{Kind: state.KindDrill, Generation: s.Generation, Number: 1, Result: &state.Result{Drill: drill, Failure: &state.Failure{Reason: v1beta2.ReasonAccessDenied, Message: "The proof failed."}, EndedAt: s.Now}}
	s.Status = NewStatus(s, plan.Report{}, nil)
	c := state.ConditionOf(s.Status.Conditions, v1beta2.ConditionVerified)
	if s.Status.LastDrill == nil || s.Status.LastDrill.Path != drill.Path || s.Status.Snapshot.RestoreTest != v1beta2.DrillPassed {
		t.Errorf("the last restore test is %+v, of the snapshot %+v", s.Status.LastDrill, s.Status.Snapshot)
	}
	if c == nil || c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "The proof failed.") {
		t.Errorf("Verified is %+v", c)
	}
	if s.Status.DrillAttempts != 1 || s.Status.NextDrillTime == nil {
		t.Errorf("it is not tried again: attempts %d, next %v", s.Status.DrillAttempts, s.Status.NextDrillTime)
	}
}
