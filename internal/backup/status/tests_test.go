package status

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestARestoreTestThatEndsTheOperatorIsNotRepeatedAtOnce(t *testing.T) {
	s := statetest.Series(statetest.Proven(time.Minute), statetest.DrillsAt("* * * * *"))
	wait := time.Duration(0)
	for n := int32(1); n <= 12; n++ {
		step, _ := plan.Plan(s)
		if step != (plan.Drill{Number: n, Path: s.Status.Snapshot.Path}) {
			t.Fatalf("attempt %d: %#v", n, step)
		}
		s.Status = NewStatus(s, step, nil)
		// The operator ends here, and the next one finds no attempt. It takes the snapshots that are due.
		s.Status.Snapshot.CreatedAt = state.Stamp(s.Now)
		step, _ = plan.Plan(s)
		next, ok := step.(plan.Scheduled)
		if !ok || next.Drill.Sub(s.Now) < min(2*wait, 6*time.Hour) || next.Drill.Sub(s.Now) < time.Minute {
			t.Fatalf("after attempt %d: %#v", n, step)
		}
		s.Status = NewStatus(s, step, nil)
		c := meta.FindStatusCondition(s.Status.Conditions, v1beta2.ConditionVerified)
		if c == nil || c.Status != "Unknown" || !strings.Contains(c.Message, "The operator was stopped during attempt") {
			t.Fatalf("Verified is %+v", c)
		}
		wait, s.Now = next.Drill.Sub(s.Now), next.Drill
		s.Status.Snapshot.CreatedAt = state.Stamp(s.Now)
	}
}

// The docs promise that a restore test that cannot be carried out is repeated after 1 minute. The pause then doubles up to 6
// hours. Without this, the operator downloads the whole snapshot every 5 minutes, forever.
func TestAVerificationThatCannotBeCarriedOutIsNotRepeatedEveryFiveMinutes(t *testing.T) {
	s := statetest.Series(statetest.Verifies, statetest.Proven(2*time.Hour))
	s.Attempt = &state.Attempt{Generation: 1, Number: 40, StartedAt: statetest.T0, Result: &state.Result{EndedAt: statetest.T0, Failure: &state.Failure{Reason: v1beta2.ReasonRestoreTestTooLarge, Message: "too large"}}}
	step, _ := plan.Plan(s)
	status := NewStatus(s, step, nil)
	if pause := status.NextTime.Sub(statetest.T0); pause < time.Hour {
		t.Errorf("attempt 41, which downloads the whole snapshot again, begins after %s", pause)
	}
}
