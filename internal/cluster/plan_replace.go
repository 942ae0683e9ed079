package cluster

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Why members are replaced.
const (
	lostData    = "its data is gone"
	losesVolume = "its volume is being deleted"
	makesWay    = "it cannot start, and another is to be replaced"
	isDead      = "it has not served for 5 minutes"
)

// deadGrace is how long a member may not serve before another takes its place.
const deadGrace = 5 * time.Minute

// replaceDead removes a voter that has not served for long while a quorum does: its host is gone, or its data is
// no good. Its volume stays until another has taken its place. A learner is replaced only when its host is gone:
// what keeps one learner from starting keeps the next one, too.
func replaceDead(s State) Step {
	learner, learning := s.learner()
	if learning && learner.Pod == PodDeleting && s.unreadyFor(learner, deadGrace) {
		return RemoveMember{ID: learner.ID, Name: learner.Name, Replace: isDead}
	}
	if learning || !s.Voters().KeepsQuorumWithout(false) {
		return nil
	}
	for _, m := range s.membership() {
		if !m.Serving && m.PodReason != v1beta2.ReasonImageUnavailable && s.unreadyFor(m, deadGrace) {
			return RemoveMember{ID: m.ID, Name: m.Name, Replace: isDead}
		}
	}
	return nil
}

// replaceLost removes a member whose data is gone, so that a new one can take its place; a learner already when its
// data is about to go.
func replaceLost(s State) Step {
	lost := s.where(func(m Member) bool {
		gone := !s.HoldsData(m) && (m.Started || !s.justAdded(m))
		return m.Incarnation == s.Incarnation && m.InMembership && (gone || (m.Learner && m.losing()))
	})
	for _, m := range lost {
		if m.Learner && m.losing() {
			return RemoveMember{ID: m.ID, Name: m.Name, Replace: losesVolume}
		}
		if m.Learner {
			return RemoveMember{ID: m.ID, Name: m.Name, Replace: lostData}
		}
	}
	if len(lost) == 0 {
		return nil
	}
	if learner, ok := s.learner(); ok {
		// One change at a time: the learner gets its vote first, or goes if it cannot start.
		if learner.Pod == PodBlocked {
			return RemoveMember{ID: learner.ID, Name: learner.Name, Replace: makesWay}
		}
		return nil
	}
	victim := lost[0]
	if !s.Voters().KeepsQuorumWithout(false) {
		return Wait{Why: v1beta2.ReasonQuorumLost, Message: "the data of member " + victim.Name + " is gone, and removing it would leave no quorum", Stalled: true}
	}
	return RemoveMember{ID: victim.ID, Name: victim.Name, Replace: lostData}
}
