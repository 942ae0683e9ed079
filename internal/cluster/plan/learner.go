package plan

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// A learner holds up all else until it votes: one change at a time. So it may not copy data without end.

// giveUpLearner removes a learner that runs and does not catch up. The next one has another Pod and another volume, so it
// may fare better on another node. A learner whose Pod is blocked is for blocked and replaceDead.
func giveUpLearner(s state.State) Step {
	m, ok := s.Learner()
	limit := state.CatchUpTime(s)
	if ok && neverStarts(s, m, limit) {
		return giveUpStart(s, m, limit)
	}
	if !ok || m.Pod != state.PodRunning || m.StartupBudget > 0 || m.SilentSince.IsZero() || s.Now.Sub(m.SilentSince) <= limit || caughtUp(s, m) {
		return nil
	}
	return RemoveMember{ID: m.ID, Name: m.Name, Cause: "it has not caught up with the leader within " + duration.HumanDuration(limit), TooSlow: true}
}

// neverStarts reports whether the Pod of a learner has a node and has not started etcd in time, for example because its volume cannot be attached there.
func neverStarts(s state.State, learner state.Member, limit time.Duration) bool {
	return state.Expected(s, learner) && state.UnreadyFor(s, learner, limit) && state.SeenFailingFor(s, learner, limit)
}

// giveUpStart removes a learner whose Pod never starts. If a voter must be replaced, the learner only makes way for that. Otherwise it counts like one
// that did not catch up, so that learners are not added and removed without end. The cause says what kept it from starting: its Pod is deleted then.
func giveUpStart(s state.State, m state.Member, limit time.Duration) Step {
	if _, due := state.DeadVoter(s); due {
		return RemoveMember{ID: m.ID, Name: m.Name, Cause: state.MakesWay}
	}
	cause := "its Pod has not started within " + duration.HumanDuration(limit) + strings.TrimRight(m.SoFar(), ". \n")
	return RemoveMember{ID: m.ID, Name: m.Name, Cause: cause, TooSlow: true}
}

// learnersFail waits, before another member is added, after several did not start or did not catch up: each of them may copy the database from
// the leader, which slows the cluster down. The status has one count for both, so the message names both.
func learnersFail(s state.State) Step {
	last := clock.Done(s.LearnerFailedAt, s.Now)
	if s.LearnerFailures < state.MaxLearnerFailures || last.IsZero() {
		return nil
	}
	next := last.Add(min(state.LearnerPause<<min(s.LearnerFailures-state.MaxLearnerFailures, 8), state.MaxLearnerPause))
	if !s.Now.Before(next) {
		return nil
	}
	return Wait{
		Reason: v1beta2.ReasonLearnerTooSlow, Stalled: true, Requeue: state.RequeueSettled,
		Message: fmt.Sprintf("%d new members in a row did not start, or did not catch up with the leader, within %s. The operator removed them, and each event ReplacingMember has the cause. %d of %d members vote. "+
			"If their Pods did not start, check that the nodes can attach and mount the volumes. If they did not catch up, check the disks and the network of the nodes, and lower the rate of writes. The operator adds the next member at %s.",
			s.LearnerFailures, duration.HumanDuration(state.CatchUpTime(s)), s.Voters().Total, s.Spec.Size, next.UTC().Format(time.RFC3339)),
	}
}

// recordLearners counts the learners that failed in a row.
func recordLearners(status *v1beta2.EtcdClusterStatus, s state.State, step Step) {
	switch step := step.(type) {
	case RemoveMember:
		if step.TooSlow {
			status.LearnerFailures++
			status.LearnerFailedAt = ptr.To(metav1.NewTime(s.Now))
		}
	case PromoteLearner, AdoptSeed:
		status.LearnerFailures, status.LearnerFailedAt = 0, nil
	}
}

// caughtUp says whether etcd would promote a learner: it has nine tenths of the log.
func caughtUp(s state.State, m state.Member) bool {
	return m.Answers && m.AppliedIndex*10 >= state.Applied(s)*9
}
