package backup

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/planning/planningtest"
)

// A wait that is forgotten here lasts without an end, and no alert or GitOps tool notices that a person must act.
func TestEachWaitOfABackupIsStalledAfterAWhile(t *testing.T) {
	planningtest.SayWhatEnds(t, ".", map[string]string{
		"backupIsBeingDeleted":  "the time for deletions",
		"lastCopy":              "the time for the final snapshot",
		"clusterIsNotAvailable": "only for a cluster that hibernates, as its spec asks",
	})
}

func stalledOf(status v1beta2.EtcdBackupStatus) *metav1.Condition {
	if c := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
		return c
	}
	return nil
}

// A schedule had named a cluster that does not exist for months, and Flux and Argo CD reported that it makes progress.
func TestABackupThatWaitsForAPersonIsStalledAfterFiveMinutes(t *testing.T) {
	for reason, wait := range map[string]change{
		v1beta2.ReasonClusterNotFound:     of(nil),
		v1beta2.ReasonClusterNotAvailable: of(&Cluster{Message: "no quorum"}),
		v1beta2.ReasonSecretMissing:       func(s *State) { s.SecretProblem = "there is no Secret bucket" },
	} {
		s := one(wait)
		for _, at := range []struct {
			after   time.Duration
			stalled bool
		}{{0, false}, {planning.StalledAfter - time.Second, false}, {planning.StalledAfter, true}, {time.Hour, true}} {
			s.Now = t0.Add(at.after)
			step, _ := Plan(s)
			s.Status = NewStatus(s, step, nil)
			if c := stalledOf(s.Status); (c != nil) != at.stalled || c != nil && (c.Reason != reason || c.Message == "") {
				t.Errorf("%s, after %s: Stalled is %+v", reason, at.after, c)
			}
			if left, requeue := planning.StalledAfter-at.after, step.describe(s).Requeue; left > 0 && (requeue == 0 || requeue > left) {
				t.Errorf("%s, after %s: the next pass is after %s", reason, at.after, requeue)
			}
		}
	}
}

// A user who lets his cluster hibernate asks for no backup, and is not told to act.
func TestABackupOfAClusterThatHibernatesIsNotStalled(t *testing.T) {
	s := one(of(&Cluster{Hibernated: true}))
	for _, after := range []time.Duration{0, 24 * time.Hour} {
		s.Now = t0.Add(after)
		step, _ := Plan(s)
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
		s := series()
		s.Attempt = &Attempt{Generation: s.Generation, Number: test.number, StartedAt: t0, Result: &Result{EndedAt: t0, Failure: &Failure{Reason: test.reason, Message: "Why."}}}
		s.Status = NewStatus(s, Report{}, nil)
		if c := stalledOf(s.Status); (c != nil) != test.stalled {
			t.Errorf("%s: Stalled is %+v", name, c)
		}
		s.Attempt, s.Status.Attempts = nil, test.number
		s.Status = NewStatus(s, TakeSnapshot{Number: test.number + 1}, nil)
		if c := stalledOf(s.Status); (c != nil) != test.stalled {
			t.Errorf("%s, during the next attempt: Stalled is %+v", name, c)
		}
		s.Status = NewStatus(s, TakeSnapshot{Number: 1}, nil)
		if c := stalledOf(s.Status); c != nil {
			t.Errorf("%s, during the first attempt of another snapshot: Stalled is %+v", name, c)
		}
	}
}
