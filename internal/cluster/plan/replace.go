package plan

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Causes of a replacement.
const (
	lostData = "its data is gone"
	// CorruptData: its data differs from that of a quorum, or etcd cannot read it.
	CorruptData = "its data is corrupt"
	makesWay    = "it cannot start, and another is to be replaced"
)

// RemoveMember takes a member out of the membership.
type RemoveMember struct {
	ID   etcd.ID
	Name string
	// Cause says why another takes its place. It is empty if the cluster shrinks.
	Cause string
	// TooSlow: it is a learner that did not catch up, which the status counts.
	TooSlow bool
}

func (step RemoveMember) describe(s State) planning.Description {
	d := planning.Description{Requeue: requeueSoon}
	if step.Cause == "" {
		d.Reason = v1beta2.ReasonScaling
		d.Message = fmt.Sprintf("The operator is removing member %s to shrink the cluster to %d members.", step.Name, s.Spec.Size)
		return announced(d, "RemovingMember", planning.Pod(step.Name))
	}
	d.Reason = v1beta2.ReasonReplacingMember
	d.Message = "The operator is removing member " + step.Name + ", because " + step.Cause + ". A new member takes its place."
	return announced(d, "ReplacingMember", planning.Pod(step.Name))
}

// unresponsiveCause says why a member is replaced that has not served for as long as the spec bears.
func (s State) unresponsiveCause() string {
	return "it has not served for " + duration.HumanDuration(s.Spec.MemberReplacementGrace())
}

// replaceDead removes a voter that has not served for long while a quorum does: its host is gone, say. Its volume
// stays until another has taken its place. Where a Pod is stuck on a dead host, or its volume is tied to one, the
// identity cannot run elsewhere: it leaves the membership first, and only then may its Pod be forgotten.
func replaceDead(s State) Step {
	learner, learning := s.learner()
	if learning && s.stranded(learner) {
		return RemoveMember{ID: learner.ID, Name: learner.Name, Cause: s.unresponsiveCause()}
	}
	if !s.Voters().KeepsQuorumWithout(false) {
		return nil
	}
	for _, m := range s.membership() {
		noImage := m.PodReason == v1beta2.ReasonImageUnavailable && m.PodImage == s.ImageFor(m.Incarnation)
		if m.Learner || m.Serving || noImage || !s.unreadyFor(m, s.Spec.MemberReplacementGrace()) {
			continue
		}
		switch {
		case !learning:
			return RemoveMember{ID: m.ID, Name: m.Name, Cause: s.unresponsiveCause()}
		case learner.Pod == PodBlocked:
			return RemoveMember{ID: learner.ID, Name: learner.Name, Cause: makesWay}
		}
	}
	return nil
}

// stranded says whether a learner's host is gone for good, or its volume is tied to one that is: then another learner
// fares better. What else keeps one learner from starting keeps the next one, too.
func (s State) stranded(learner Member) bool {
	tied := learner.Started && learner.Pod == PodBlocked && learner.PodReason == v1beta2.ReasonPodUnschedulable
	return (learner.Pod == PodDeleting || tied) && s.unreadyFor(learner, s.Spec.MemberReplacementGrace())
}

// replaceLost removes a member whose data is gone or corrupt, so that a new one can take its place; a learner already
// when its data is about to go.
func replaceLost(s State) Step {
	lost := s.where(func(m Member) bool {
		gone := !s.HoldsData(m) && (m.Started || !s.justAdded(m))
		return m.Incarnation == s.Incarnation && m.InMembership && (gone || m.Corrupt || (m.Learner && s.leavingCause(m) != ""))
	})
	for _, m := range lost {
		if m.Learner {
			return RemoveMember{ID: m.ID, Name: m.Name, Cause: cmp.Or(s.leavingCause(m), m.wrong())}
		}
	}
	if len(lost) == 0 {
		return nil
	}
	if learner, ok := s.learner(); ok {
		// One change at a time: the learner gets its vote first, or goes if it cannot start.
		if learner.Pod == PodBlocked {
			return RemoveMember{ID: learner.ID, Name: learner.Name, Cause: makesWay}
		}
		return nil
	}
	victim := lost[0]
	if !s.Voters().KeepsQuorumWithout(false) {
		return Wait{Reason: v1beta2.ReasonQuorumLost, Message: "member " + victim.Name + " is to be replaced, because " + victim.wrong() + ", and removing it would leave no quorum", Stalled: true}
	}
	return RemoveMember{ID: victim.ID, Name: victim.Name, Cause: victim.wrong()}
}

// wrong says what is wrong with a member's data.
func (m Member) wrong() string {
	if m.Corrupt {
		return CorruptData
	}
	return lostData
}
