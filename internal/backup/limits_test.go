package backup

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// A restore test that was ended for others was reported as a snapshot that cannot be restored.
func TestARestoreTestThatIsEndedForOthersIsTriedAgain(t *testing.T) {
	over := fmt.Errorf("%w, and this took longer than 1m0s for 0 MiB", turns.ErrOthersWaited)
	w := attempttest.NewWorld(t)
	tested := attempttest.Drilling(w, proof.RestoreTestResult{}, fmt.Errorf("restore test of snapshot x: %w", over))
	r := w.Attempt(statetest.One(statetest.Verifies))
	if len(*tested) != 1 || r.Failure == nil || r.Failure.Reason != v1beta2.ReasonRetrying || r.Drill != nil {
		t.Errorf("%d tests, failure %+v, result %+v", len(*tested), r.Failure, r.Drill)
	}
	statetest.Bubble(t, "the status has no result, and the time of the next attempt", func(t *testing.T) {
		rig := newRig(t, object(statetest.Series(statetest.Proven(time.Minute), statetest.DrillsAt("* * * * *"))))
		rig.now = statetest.At(statetest.T0)
		rig.ends = func(context.Context) state.Result {
			return state.Result{EndedAt: statetest.T0, Failure: failure.Classify(over, state.JobSpec{Kind: state.KindDrill}, false)}
		}
		before := rig.backup().Status.LastDrill
		rig.pass()
		rig.pass()
		now := rig.backup().Status
		if rig.begun != 1 || !equality.Semantic.DeepEqual(before, now.LastDrill) || now.NextDrillTime == nil || now.NextDrillTime.Sub(statetest.T0) < time.Minute {
			t.Errorf("%d tests began, the result is %+v, and the next test is at %s", rig.begun, now.LastDrill, now.NextDrillTime)
		}
		if c := meta.FindStatusCondition(now.Conditions, v1beta2.ConditionVerified); c == nil || c.Status == "False" || !strings.Contains(c.Message, "other namespaces waited") {
			t.Errorf("Verified is %+v", c)
		}
	})
}
