package backup

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

// failedOften is after how many failures the pause no longer grows.
const failedOften = 15

// Each attempt reads the whole database. A store that can never take the snapshot must not cost that every 5 minutes for ever, and a pause
// that is longer than others must not look as if a clock that was ahead had written it.
func TestAnAttemptThatFailsForALastingCauseIsRepeatedLessOften(t *testing.T) {
	for _, p := range problem.Table() {
		f := &Failure{p.Reason, "The store refuses it."}
		for name, state := range map[string]State{"one": one(), "series": series(proven(2 * time.Hour))} {
			s := with(state, ended(failedOften, Result{Failure: f}))
			s.Status = NewStatus(s, Report{}, nil)
			s.Attempt = nil
			if terminal(p.Reason) && !s.Series() {
				continue
			}
			wantPause(t, name+" "+p.Reason, next(s), problem.Longest(p.Reason))
		}
	}
}

func wantPause(t *testing.T, name string, step Step, want time.Duration) {
	t.Helper()
	wait, ok := step.(Backoff)
	if !ok || !wait.At.Equal(t0.Add(want)) {
		t.Errorf("%s: the next step is %T %+v, expected a pause of %s", name, step, step, want)
	}
}

func TestACopyThatFailsForALastingCauseIsRepeatedLessOften(t *testing.T) {
	for _, p := range problem.Table() {
		s := series(copies, func(s *State) { proven(time.Minute)(s); ofKnownCluster(s); s.Status.Snapshot.SHA256 = "a" })
		s.Copy = &Attempt{Kind: KindCopy, Generation: 1, Number: failedOften, Result: &Result{EndedAt: t0, Failure: &Failure{p.Reason, "The store refuses it."}}}
		s.Status.Copies = &v1beta2.BackupCopies{ObservedGeneration: 1, Attempts: failedOften, LastAttemptTime: &metav1.Time{Time: t0}}
		s.Status = NewStatus(s, ReportCopy{}, nil)
		s.Copy = nil
		if at := s.copyTurn(); !at.Equal(t0.Add(problem.Longest(p.Reason))) {
			t.Errorf("%s: the next copy is due after %s, expected %s", p.Reason, at.Sub(t0), problem.Longest(p.Reason))
		}
		if c := meta.FindStatusCondition(s.Status.Conditions, v1beta2.ConditionCopied); c == nil || c.Reason != p.Reason {
			t.Errorf("%s: the condition is %+v", p.Reason, c)
		}
	}
}
