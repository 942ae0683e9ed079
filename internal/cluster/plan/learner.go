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
)

// A learner holds up all else until it votes: one change at a time. So it may not copy data without end.

const (
	// catchUpAtLeast is how long a learner may take to catch up with the leader, however small the database is.
	catchUpAtLeast = 10 * time.Minute
	// catchUpSpeed is how many bytes a second a learner is expected to copy at least.
	catchUpSpeed = int64(4) << 20
)

// catchUpTime is how long a learner may take to catch up.
func (s State) catchUpTime() time.Duration {
	largest := int64(0)
	for _, m := range s.membership() {
		largest = max(largest, m.DBSize)
	}
	return max(catchUpAtLeast, time.Duration(largest/catchUpSpeed)*time.Second)
}

// giveUpLearner removes a learner that runs and does not catch up. The next one has another Pod and another volume, so it
// may fare better on another node. A learner whose Pod is blocked is for blocked and replaceDead.
func giveUpLearner(s State) Step {
	m, ok := s.learner()
	limit := s.catchUpTime()
	if ok && s.neverStarts(m, limit) {
		return s.giveUpStart(m, limit)
	}
	if !ok || m.Pod != PodRunning || m.StartupBudget > 0 || m.SilentSince.IsZero() || s.Now.Sub(m.SilentSince) <= limit || s.caughtUp(m) {
		return nil
	}
	return RemoveMember{ID: m.ID, Name: m.Name, Cause: "it has not caught up with the leader within " + duration.HumanDuration(limit), TooSlow: true}
}

// neverStarts reports whether the Pod of a learner has a node and has not started etcd in time, for example because its volume cannot be attached there.
func (s State) neverStarts(learner Member, limit time.Duration) bool {
	return s.Expected(learner) && s.unreadyFor(learner, limit) && s.seenFailingFor(learner, limit)
}

// giveUpStart removes a learner whose Pod never starts. If a voter must be replaced, the learner only makes way for that. Otherwise it counts like one
// that did not catch up, so that learners are not added and removed without end. The cause says what kept it from starting: its Pod is deleted then.
func (s State) giveUpStart(m Member, limit time.Duration) Step {
	if _, due := s.deadVoter(); due {
		return RemoveMember{ID: m.ID, Name: m.Name, Cause: makesWay}
	}
	cause := "its Pod has not started within " + duration.HumanDuration(limit) + strings.TrimRight(m.soFar(), ". \n")
	return RemoveMember{ID: m.ID, Name: m.Name, Cause: cause, TooSlow: true}
}

const (
	// maxLearnerFailures is how many learners in a row may fail before a person must act.
	maxLearnerFailures = 3
	// learnerPause is how long the operator waits after that many before it adds the next one. It doubles with each.
	learnerPause, maxLearnerPause = 30 * time.Minute, 8 * time.Hour
)

// learnersFail waits, before another member is added, after several did not start or did not catch up: each of them may copy the database from
// the leader, which slows the cluster down. The status has one count for both, so the message names both.
func learnersFail(s State) Step {
	last := clock.Done(s.LearnerFailedAt, s.Now)
	if s.LearnerFailures < maxLearnerFailures || last.IsZero() {
		return nil
	}
	next := last.Add(min(learnerPause<<min(s.LearnerFailures-maxLearnerFailures, 8), maxLearnerPause))
	if !s.Now.Before(next) {
		return nil
	}
	return Wait{
		Reason: v1beta2.ReasonLearnerTooSlow, Stalled: true, Requeue: requeueSettled,
		Message: fmt.Sprintf("%d new members in a row did not start, or did not catch up with the leader, within %s. The operator removed them, and each event ReplacingMember has the cause. %d of %d members vote. "+
			"If their Pods did not start, check that the nodes can attach and mount the volumes. If they did not catch up, check the disks and the network of the nodes, and lower the rate of writes. The operator adds the next member at %s.",
			s.LearnerFailures, duration.HumanDuration(s.catchUpTime()), s.Voters().Total, s.Spec.Size, next.UTC().Format(time.RFC3339)),
	}
}

// recordLearners counts the learners that failed in a row.
func recordLearners(status *v1beta2.EtcdClusterStatus, s State, step Step) {
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
func (s State) caughtUp(m Member) bool {
	return m.Answers && m.AppliedIndex*10 >= s.applied()*9
}
