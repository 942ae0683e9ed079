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
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

// failedOften is after how many failures the pause no longer grows.
const failedOften = 15

// Each attempt reads the whole database. A store that can never take the snapshot must not cost that every 5 minutes for ever, and a pause
// that is longer than others must not look as if a clock that was ahead had written it.
func TestAnAttemptThatFailsForALastingCauseIsRepeatedLessOften(t *testing.T) {
	for _, p := range problem.Table() {
		f := &state.Failure{Reason: p.Reason, Message: "The store refuses it."}
		for name, given := range map[string]state.State{"one": statetest.One(), "series": statetest.Series(statetest.Proven(2 * time.Hour))} {
			s := with(given, statetest.Ended(failedOften, state.Result{Failure: f}))
			s.Status = NewStatus(s, plan.Report{}, nil)
			s.Attempt = nil
			if state.Terminal(p.Reason) && !s.Series() {
				continue
			}
			wantPause(t, name+" "+p.Reason, planned(s), problem.Longest(p.Reason))
		}
	}
}

func wantPause(t *testing.T, name string, step plan.Step, want time.Duration) {
	t.Helper()
	wait, ok := step.(plan.Backoff)
	if !ok || !wait.At.Equal(statetest.T0.Add(want)) {
		t.Errorf("%s: the next step is %T %+v, expected a pause of %s", name, step, step, want)
	}
}

func TestACopyThatFailsForALastingCauseIsRepeatedLessOften(t *testing.T) {
	for _, p := range problem.Table() {
		s := statetest.Series(statetest.Copies, func(s *state.State) {
			statetest.Proven(time.Minute)(s)
			statetest.OfKnownCluster(s)
			s.Status.Snapshot.SHA256 = "a"
		})
		s.Copy = &state.Attempt{Kind: state.KindCopy, Generation: 1, Number: failedOften, Result: &state.Result{EndedAt: statetest.T0, Failure: &state.Failure{Reason: p.Reason, Message: "The store refuses it."}}}
		s.Status.Copies = &v1beta2.BackupCopies{ObservedGeneration: 1, Attempts: failedOften, LastAttemptTime: &metav1.Time{Time: statetest.T0}}
		s.Status = NewStatus(s, plan.ReportCopy{}, nil)
		s.Copy = nil
		if at := plan.CopyTurn(s); !at.Equal(statetest.T0.Add(problem.Longest(p.Reason))) {
			t.Errorf("%s: the next copy is due after %s, expected %s", p.Reason, at.Sub(statetest.T0), problem.Longest(p.Reason))
		}
		if c := meta.FindStatusCondition(s.Status.Conditions, v1beta2.ConditionCopied); c == nil || c.Reason != p.Reason {
			t.Errorf("%s: the condition is %+v", p.Reason, c)
		}
	}
}
