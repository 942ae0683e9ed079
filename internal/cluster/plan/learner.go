package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
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
	return RemoveMember{ID: m.ID, Name: m.Name, Cause: "it has not caught up with the leader within " + duration.HumanDuration(limit)}
}

// caughtUp says whether etcd would promote a learner: it has nine tenths of the log.
func (s State) caughtUp(m Member) bool {
	return m.Answers && m.AppliedIndex*10 >= s.applied()*9
}
