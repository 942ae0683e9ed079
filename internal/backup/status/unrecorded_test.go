package status

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// A restore test finds that the newest snapshot differs from its cluster, and the store does not take the record of that, for example because its
// quota is used up. The status reported that the test could not run, and Ready stayed True: a user relied on a snapshot that cannot be used.
func TestAFailedRestoreTestIsReportedAlthoughItsRecordIsNotStored(t *testing.T) {
	s := statetest.ArchivingState(t, statetest.Later)
	s.Status = NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	drill := &v1beta2.BackupDrill{Path: s.Status.Snapshot.Path, Result: v1beta2.DrillFailed, Time: metav1.Time{Time: s.Now}, Message: "its contents differ from the cluster"}
	s.Attempt = &state.Attempt{Kind: state.KindDrill, Generation: s.Generation, Number: 1, Result: &state.Result{
		Drill: drill, Failure: &state.Failure{Reason: v1beta2.ReasonRetrying, Message: "record the result of the restore test: quota exceeded"}, EndedAt: s.Now,
	}}
	s.Status = NewStatus(s, plan.Report{}, nil)
	for _, kind := range []string{v1beta2.ConditionReady, v1beta2.ConditionVerified} {
		if c := meta.FindStatusCondition(s.Status.Conditions, kind); c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "differ") {
			t.Errorf("the newest snapshot failed its restore test, and %s is %s: %s", kind, c.Status, c.Message)
		}
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, v1beta2.ConditionVerified); !strings.Contains(c.Message, "quota exceeded") {
		t.Errorf("the status does not name why the result is not stored: %s", c.Message)
	}
	s.Attempt = nil
	if next := s.Status.NextDrillTime; s.Status.DrillAttempts != 1 || next == nil || !plan.TestTurn(s).Equal(next.Time) {
		t.Errorf("the test is not repeated until its result is stored: attempt %d, %v, due %s", s.Status.DrillAttempts, next, plan.TestTurn(s))
	}
}
