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
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

func stalledOf(status v1beta2.EtcdBackupStatus) *metav1.Condition {
	if c := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
		return c
	}
	return nil
}

// A schedule had named a cluster that does not exist for months, and Flux and Argo CD reported that it makes progress.
func TestABackupThatWaitsForAPersonIsStalledAfterFiveMinutes(t *testing.T) {
	for reason, wait := range map[string]statetest.Change{
		v1beta2.ReasonClusterNotFound:     statetest.Of(nil),
		v1beta2.ReasonClusterNotAvailable: statetest.Of(&state.Cluster{Message: "no quorum"}),
		v1beta2.ReasonSecretMissing:       func(s *state.State) { s.SecretProblem = "there is no Secret bucket" },
	} {
		s := statetest.One(wait)
		for _, at := range []struct {
			after   time.Duration
			stalled bool
		}{{0, false}, {planning.StalledAfter - time.Second, false}, {planning.StalledAfter, true}, {time.Hour, true}} {
			s.Now = statetest.T0.Add(at.after)
			step, _ := plan.Plan(s)
			s.Status = NewStatus(s, step, nil)
			if c := stalledOf(s.Status); (c != nil) != at.stalled || c != nil && (c.Reason != reason || c.Message == "") {
				t.Errorf("%s, after %s: Stalled is %+v", reason, at.after, c)
			}
			if left, requeue := planning.StalledAfter-at.after, plan.Describe(step, s).Requeue; left > 0 && (requeue == 0 || requeue > left) {
				t.Errorf("%s, after %s: the next pass is after %s", reason, at.after, requeue)
			}
		}
	}
}

// A user who lets his cluster hibernate asks for no backup, and is not told to act.
func TestABackupOfAClusterThatHibernatesIsNotStalled(t *testing.T) {
	s := statetest.One(statetest.Of(&state.Cluster{Hibernated: true}))
	for _, after := range []time.Duration{0, 24 * time.Hour} {
		s.Now = statetest.T0.Add(after)
		step, _ := plan.Plan(s)
		if s.Status = NewStatus(s, step, nil); stalledOf(s.Status) != nil {
			t.Errorf("after %s: %+v", after, stalledOf(s.Status))
		}
	}
}

// A store that refuses each snapshot for a reason that lasts was tried again and again, and only the message said so.
func TestABackupIsStalledIfItsAttemptsFailUntilAPersonActs(t *testing.T) {
	for name, test := range map[string]struct {
		reason  string
		number  int32
		stalled bool
	}{
		"the store cannot do it":             {v1beta2.ReasonStoreNotCapable, 1, true},
		"the administrator does not permit":  {v1beta2.ReasonPathNotAllowed, 1, true},
		"the network fails once":             {v1beta2.ReasonStoreUnreachable, 1, false},
		"the network fails for some minutes": {v1beta2.ReasonStoreUnreachable, planning.StalledAfterFailures, true},
	} {
		s := statetest.Series()
		s.Attempt = &state.Attempt{Generation: s.Generation, Number: test.number, StartedAt: statetest.T0, Result: &state.Result{EndedAt: statetest.T0, Failure: &state.Failure{Reason: test.reason, Message: "Why."}}}
		s.Status = NewStatus(s, plan.Report{}, nil)
		if c := stalledOf(s.Status); (c != nil) != test.stalled {
			t.Errorf("%s: Stalled is %+v", name, c)
		}
		s.Attempt, s.Status.Attempts = nil, test.number
		s.Status = NewStatus(s, plan.TakeSnapshot{Number: test.number + 1}, nil)
		if c := stalledOf(s.Status); (c != nil) != test.stalled {
			t.Errorf("%s, during the next attempt: Stalled is %+v", name, c)
		}
		s.Status = NewStatus(s, plan.TakeSnapshot{Number: 1}, nil)
		if c := stalledOf(s.Status); c != nil {
			t.Errorf("%s, during the first attempt of another snapshot: Stalled is %+v", name, c)
		}
	}
}
