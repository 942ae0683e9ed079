package plan

import (
	"fmt"
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
// may fare better on another node. A learner that cannot start is for blocked and replaceDead.
func giveUpLearner(s State) Step {
	m, ok := s.learner()
	limit := s.catchUpTime()
	if !ok || m.Pod != PodRunning || m.StartupBudget > 0 || m.SilentSince.IsZero() || s.Now.Sub(m.SilentSince) <= limit || s.caughtUp(m) {
		return nil
	}
	return RemoveMember{ID: m.ID, Name: m.Name, Cause: "it has not caught up with the leader within " + duration.HumanDuration(limit), TooSlow: true}
}

const (
	// maxLearnerFailures is how many learners in a row may fail before a person must act.
	maxLearnerFailures = 3
	// learnerPause is how long the operator waits after that many before it adds the next one. It doubles with each.
	learnerPause, maxLearnerPause = 30 * time.Minute, 8 * time.Hour
)

// learnersFail waits, before another member is added, after several did not catch up: each of them copies the database from
// the leader, which slows the cluster down.
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
		Message: fmt.Sprintf("%d new members in a row did not catch up with the leader within %s, and the operator removed them. %d of %d members vote. Check the disks and the network of the nodes, and lower the rate of writes. The operator adds the next member at %s.",
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
