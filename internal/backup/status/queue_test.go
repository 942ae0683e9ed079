package status

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestAQueuedAttemptIsShownAsQueued(t *testing.T) {
	s := statetest.Series(func(s *state.State) {
		s.Attempt = &state.Attempt{Queued: true, Generation: 1, Number: 1, StartedAt: statetest.T0}
	})
	step, _ := plan.Plan(s)
	if got := NewStatus(s, step, nil).Progress; got == nil || got.Stage != "queued" {
		t.Errorf("progress %+v", got)
	}
	if got := plan.Describe(step, s); got.Requeue < time.Hour {
		t.Errorf("it is read again after %s", got.Requeue)
	}
}

func TestAnAttemptThatNeverRanIsNotCounted(t *testing.T) {
	for name, test := range map[string]struct {
		full bool
		want plan.Step
	}{
		"a queued attempt is queued again at once":                    {true, plan.TakeSnapshot{Number: 1}},
		"an attempt that began is counted and repeated after a pause": {false, plan.Backoff{At: statetest.T0.Add(plan.FirstDelay), Interrupted: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := statetest.Series(func(s *state.State) { s.Full = test.full })
			step, _ := plan.Plan(s)
			s.Status = NewStatus(s, step, nil)
			// The operator is restarted.
			if got := planned(s); got != test.want {
				t.Errorf("step %#v, want %#v", got, test.want)
			}
			s.Spec.EtcdEndpoints, s.Spec.EtcdCluster = nil, &v1beta2.ClusterReference{Name: "etcd"}
			if test.full {
				if got := NewStatus(s, planned(s), nil); got.Attempts != 0 {
					t.Errorf("%d attempts are counted while the cluster is missing", got.Attempts)
				}
			}
		})
	}
}
