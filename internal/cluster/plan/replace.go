package plan

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
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

func (step RemoveMember) describe(s state.State) planning.Description {
	d := planning.Description{Requeue: state.RequeueSoon}
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

// Unresponsive reports whether the member is removed because it does not serve.
func (step RemoveMember) Unresponsive() bool { return strings.HasPrefix(step.Cause, state.NotServed) }

// unresponsiveCause is the cause of replacing a member that has not served for the grace period of the spec.
func unresponsiveCause(s state.State) string {
	return state.NotServed + duration.HumanDuration(s.Spec.MemberReplacementGrace())
}

// replaceDead removes a voter that has failed for the grace period while a quorum serves. Its node may be lost. Its
// volume is kept until another member has replaced it. If the Pod or its volume is bound to a lost node, the member cannot
// run elsewhere: it is removed from the membership first, and only then is its Pod deleted by force.
func replaceDead(s state.State) Step {
	learner, learning := s.Learner()
	if learning && stranded(s, learner) {
		return RemoveMember{ID: learner.ID, Name: learner.Name, Cause: unresponsiveCause(s)}
	}
	m, due := state.DeadVoter(s)
	switch {
	case !due:
	case !learning:
		return braked(s, RemoveMember{ID: m.ID, Name: m.Name, Cause: unresponsiveCause(s)})
	case learner.Pod == state.PodBlocked:
		return RemoveMember{ID: learner.ID, Name: learner.Name, Cause: state.MakesWay}
	}
	return nil
}

// stranded says whether a learner or its volume is bound to a lost node, or its volume has lost the data. Then another learner can start.
// Any other cause would also keep the next learner from starting.
func stranded(s state.State, learner state.Member) bool {
	tied := learner.Started && learner.Pod == state.PodBlocked && (learner.PodReason == v1beta2.ReasonPodUnschedulable || learner.Empty)
	return (learner.Pod == state.PodDeleting || tied) && state.UnreadyFor(s, learner, s.Spec.MemberReplacementGrace())
}

// replaceLost removes a member whose data is lost or corrupt, so that a new one can replace it. It removes a learner as soon
// as its data is about to be lost.
func replaceLost(s state.State) Step {
	lost := s.Where(func(m state.Member) bool {
		gone := !s.HoldsData(m) && (m.Started || !state.JustAdded(s, m))
		return m.Incarnation == s.Incarnation && m.InMembership && (gone || (m.Corrupt && !s.Fenced(m.Name)) || (m.Learner && leavingCause(s, m) != ""))
	})
	for _, m := range lost {
		if m.Learner {
			if wait := waitForAttempt(s, []state.Member{m}); wait != nil && s.Surplus() <= len(leavingMembers(s)) {
				return wait // its Pod was evicted with its data, and so may be the next one
			}
			return RemoveMember{ID: m.ID, Name: m.Name, Cause: cmp.Or(leavingCause(s, m), m.Wrong())}
		}
	}
	if len(lost) == 0 {
		return nil
	}
	if learner, ok := s.Learner(); ok {
		// One change at a time: the learner gets its vote first, or is removed if it cannot start.
		if learner.Pod == state.PodBlocked {
			return RemoveMember{ID: learner.ID, Name: learner.Name, Cause: state.MakesWay}
		}
		return nil
	}
	if wait := waitForForeignLearner(s); wait != nil {
		return wait
	}
	victim := lost[0]
	if victim.Volume == state.VolumePresent && state.OnAnotherVolume(s, victim) {
		return waitForOther(s, victim)
	}
	if !s.Voters().KeepsQuorumWithout(false) {
		return Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Member " + victim.Name + " must be replaced, because " + victim.Wrong() + ". Removing it would leave no quorum, so the operator waits. Recover the members that are down.", Stalled: true}
	}
	return braked(s, RemoveMember{ID: victim.ID, Name: victim.Name, Cause: victim.Wrong()})
}
