package membership

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// A learner holds up all else until it votes: one change at a time. So it may not copy data without end.

// GiveUpLearner removes a learner that runs and does not catch up. The next one has another Pod and another volume, so it
// may fare better on another node. A learner whose Pod is blocked is for blocked and replaceDead.
func GiveUpLearner(s state.State) steps.Step {
	m, ok := s.Learner()
	limit := state.CatchUpTime(s)
	if ok && neverStarts(s, m, limit) {
		return giveUpStart(s, m, limit)
	}
	if !ok || m.Pod != state.PodRunning || m.StartupBudget > 0 || m.SilentSince.IsZero() || s.Now.Sub(m.SilentSince) <= limit || caughtUp(s, m) {
		return nil
	}
	return steps.RemoveMember{ID: m.ID, Name: m.Name, Cause: "it has not caught up with the leader within " + duration.HumanDuration(limit), TooSlow: true}
}

// neverStarts reports whether the Pod of a learner has a node and has not started etcd in time, for example because its volume cannot be attached there.
func neverStarts(s state.State, learner state.Member, limit time.Duration) bool {
	return state.Expected(s, learner) && state.UnreadyFor(s, learner, limit) && state.SeenFailingFor(s, learner, limit)
}

// giveUpStart removes a learner whose Pod never starts. If a voter must be replaced, the learner only makes way for that. Otherwise it counts like one
// that did not catch up, so that learners are not added and removed without end. The cause says what kept it from starting: its Pod is deleted then.
func giveUpStart(s state.State, m state.Member, limit time.Duration) steps.Step {
	if _, due := state.DeadVoter(s); due {
		return steps.RemoveMember{ID: m.ID, Name: m.Name, Cause: state.MakesWay}
	}
	cause := "its Pod has not started within " + duration.HumanDuration(limit) + strings.TrimRight(m.SoFar(), ". \n")
	return steps.RemoveMember{ID: m.ID, Name: m.Name, Cause: cause, TooSlow: true}
}

// RecordLearners counts the learners that failed in a row.
func RecordLearners(status *v1beta2.EtcdClusterStatus, s state.State, step steps.Step) {
	switch step := step.(type) {
	case steps.RemoveMember:
		if step.TooSlow {
			status.LearnerFailures++
			status.LearnerFailedAt = ptr.To(metav1.NewTime(s.Now))
		}
	case steps.PromoteLearner, steps.AdoptSeed:
		status.LearnerFailures, status.LearnerFailedAt = 0, nil
	}
}

// caughtUp says whether etcd would promote a learner: it has nine tenths of the log.
func caughtUp(s state.State, m state.Member) bool {
	return m.Answers && m.AppliedIndex*10 >= state.Applied(s)*9
}
