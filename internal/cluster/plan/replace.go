package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Causes of a replacement.
const (
	// LostData: nothing is left of its data.
	LostData = "its data is lost"
	// CorruptData: its data differs from that of a quorum, or etcd cannot read it.
	CorruptData = "its data is corrupt"
	makesWay    = "it cannot start, and another member must be replaced"
)

// RemoveMember takes a member out of the membership.
type RemoveMember struct {
	ID   etcd.ID
	Name string
	// Cause says why another takes its place. It is empty if the cluster shrinks.
	Cause string
	// TooSlow: it is a learner that did not catch up, which the status counts.
	TooSlow bool
	// Foreign: the operator did not add it, and no other takes its place.
	Foreign bool
}

func (step RemoveMember) describe(s State) planning.Description {
	d := planning.Description{Requeue: requeueSoon}
	if step.Cause == "" {
		d.Reason = v1beta2.ReasonScaling
		d.Message = fmt.Sprintf("The operator is removing member %s to shrink the cluster to %d members.", step.Name, s.Spec.Size)
		return announced(d, "RemovingMember", planning.Pod(step.Name))
	}
	if step.Foreign {
		d.Reason, d.Message = v1beta2.ReasonForeignMember, "The operator is removing member "+step.Name+", because "+step.Cause+"."
		return announced(d, "RemovingForeignMember", cluster)
	}
	d.Reason = v1beta2.ReasonReplacingMember
	d.Message = "The operator is removing member " + step.Name + ", because " + step.Cause + ". A new member takes its place."
	return announced(d, "ReplacingMember", planning.Pod(step.Name))
}

// notServed begins the cause of a member that is replaced because it does not serve.
const notServed = "it has not served for "

// Unresponsive reports whether the member is removed because it does not serve.
func (step RemoveMember) Unresponsive() bool { return strings.HasPrefix(step.Cause, notServed) }

// unresponsiveCause is the cause of replacing a member that has not served for the grace period of the spec.
func (s State) unresponsiveCause() string {
	return notServed + duration.HumanDuration(s.Spec.MemberReplacementGrace())
}

// replaceDead removes a voter that has failed for the grace period while a quorum serves. Its node may be lost. Its
// volume is kept until another member has replaced it. If the Pod or its volume is bound to a lost node, the member cannot
// run elsewhere: it is removed from the membership first, and only then is its Pod deleted by force.
func replaceDead(s State) Step {
	learner, learning := s.learner()
	if learning && s.stranded(learner) {
		return RemoveMember{ID: learner.ID, Name: learner.Name, Cause: s.unresponsiveCause()}
	}
	m, due := s.deadVoter()
	switch {
	case !due:
	case !learning:
		return s.braked(RemoveMember{ID: m.ID, Name: m.Name, Cause: s.unresponsiveCause()})
	case learner.Pod == PodBlocked:
		return RemoveMember{ID: learner.ID, Name: learner.Name, Cause: makesWay}
	}
	return nil
}

// deadVoter returns the voter that replaceDead replaces, or would replace if there was no learner.
func (s State) deadVoter() (Member, bool) {
	if _, held := s.foreignLearner(); held || !s.Voters().KeepsQuorumWithout(false) {
		return Member{}, false
	}
	for _, m := range s.membership() {
		noImage := m.PodReason == v1beta2.ReasonImageUnavailable && m.PodImage == s.ImageFor(m.Incarnation)
		if !m.Learner && !m.Serving && !noImage && !s.Fenced(m.Name) && !s.failsBySpec(m) && !s.lacksCA(m) && s.failedFor(m, s.Spec.MemberReplacementGrace()) {
			return m, true
		}
	}
	return Member{}, false
}

// failsBySpec reports whether a member ends again and again since it got the current spec, while others serve with an earlier
// one. A new member would fail, too. The change may be what is wrong, and a person can undo it.
func (s State) failsBySpec(m Member) bool {
	if m.Pod != PodBlocked || m.PodReason != v1beta2.ReasonPodFailing || m.Empty || m.Outdated || m.PodImage != s.ImageFor(m.Incarnation) {
		return false
	}
	return slices.ContainsFunc(s.membership(), func(other Member) bool {
		return other.Serving && other.Name != m.Name && (other.Outdated || other.PodImage != m.PodImage)
	})
}

// lacksCA reports whether a member that runs trusts other CAs than its Secrets hold, and would have its data after a restart. The others may refuse it
// for that reason alone, so recreateUnhealthy restarts it first. A Pod that cannot be stopped does not run any more for the operator.
func (s State) lacksCA(m Member) bool {
	return m.Pod == PodRunning && !m.NodeSilent && s.trustsOldCA(m) && s.keepsData(m)
}

// stranded says whether a learner or its volume is bound to a lost node, or its volume has lost the data. Then another learner can start.
// Any other cause would also keep the next learner from starting.
func (s State) stranded(learner Member) bool {
	tied := learner.Started && learner.Pod == PodBlocked && (learner.PodReason == v1beta2.ReasonPodUnschedulable || learner.Empty)
	return (learner.Pod == PodDeleting || tied) && s.unreadyFor(learner, s.Spec.MemberReplacementGrace())
}

// replaceLost removes a member whose data is lost or corrupt, so that a new one can replace it. It removes a learner as soon
// as its data is about to be lost.
func replaceLost(s State) Step {
	lost := s.where(func(m Member) bool {
		gone := !s.HoldsData(m) && (m.Started || !s.justAdded(m))
		return m.Incarnation == s.Incarnation && m.InMembership && (gone || (m.Corrupt && !s.Fenced(m.Name)) || (m.Learner && s.leavingCause(m) != ""))
	})
	for _, m := range lost {
		if m.Learner {
			if wait := s.waitForAttempt([]Member{m}); wait != nil && s.surplus() <= len(s.leavingMembers()) {
				return wait // its Pod was evicted with its data, and so may be the next one
			}
			return RemoveMember{ID: m.ID, Name: m.Name, Cause: cmp.Or(s.leavingCause(m), m.wrong())}
		}
	}
	if len(lost) == 0 {
		return nil
	}
	if learner, ok := s.learner(); ok {
		// One change at a time: the learner gets its vote first, or is removed if it cannot start.
		if learner.Pod == PodBlocked {
			return RemoveMember{ID: learner.ID, Name: learner.Name, Cause: makesWay}
		}
		return nil
	}
	if wait := s.waitForForeignLearner(); wait != nil {
		return wait
	}
	victim := lost[0]
	if victim.Volume == VolumePresent && s.OnAnotherVolume(victim) {
		return s.waitForOther(victim)
	}
	if !s.Voters().KeepsQuorumWithout(false) {
		return Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Member " + victim.Name + " must be replaced, because " + victim.wrong() + ". Removing it would leave no quorum, so the operator waits. Recover the members that are down.", Stalled: true}
	}
	return s.braked(RemoveMember{ID: victim.ID, Name: victim.Name, Cause: victim.wrong()})
}

// wrong says what is wrong with a member's data.
func (m Member) wrong() string {
	if m.Corrupt {
		return CorruptData
	}
	return LostData
}
