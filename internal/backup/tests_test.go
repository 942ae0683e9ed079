package backup

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestARestoreTestIsCountedBeforeItStarts(t *testing.T) {
	statetest.Bubble(t, "the status counts the test before it starts", func(t *testing.T) {
		r := newRig(t, object(statetest.Series(statetest.Proven(time.Minute), statetest.DrillsAt("* * * * *"))))
		r.now = statetest.At(statetest.T0)
		counted := int32(0)
		r.ends = func(context.Context) state.Result {
			counted = r.backup().Status.DrillAttempts
			return state.Result{EndedAt: statetest.T0, Failure: &state.Failure{Reason: v1beta2.ReasonStoreUnreachable, Message: "reset"}}
		}
		r.pass()
		if r.begun != 1 || counted != 1 {
			t.Errorf("%d tests began, and %d were counted at the start", r.begun, counted)
		}
	})
	statetest.Bubble(t, "the test does not start if the status cannot be written", func(t *testing.T) {
		r := newRig(t, object(statetest.Series(statetest.Proven(time.Minute), statetest.DrillsAt("* * * * *"))))
		r.now = statetest.At(statetest.T0)
		r.patchErr = errors.New("the API server is down")
		if _, err := r.Reconcile(t.Context(), request); err == nil || r.begun > 0 {
			t.Errorf("error %v, %d tests began", err, r.begun)
		}
	})
}
