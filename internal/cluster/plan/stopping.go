package plan

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// goneGrace is how long a Pod may outlive the end of its grace period before a person is asked.
const goneGrace = 30 * time.Second

// waitUntilGone waits for a Pod or volume to be gone, and says what to do when that takes too long.
func (s State) waitUntilGone(m Member, why, message string) Step {
	if s.overdue(m) {
		return Wait{
			Reason:  v1beta2.ReasonPodFailing,
			Message: "Pod " + m.Name + " should have stopped and its host does not confirm it: make sure that it has, then delete the Pod with --force --grace-period=0",
			Stalled: true,
		}
	}
	return Wait{Reason: why, Message: message}
}

// overdue says whether a Pod should have been gone for some time.
func (s State) overdue(m Member) bool {
	return m.Pod == PodDeleting && !m.GoneBy.IsZero() && s.Now.Sub(m.GoneBy) > goneGrace
}
