package repair

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// unresponsiveCause is the cause of replacing a member that has not served for the grace period of the spec.
func unresponsiveCause(s state.State) string {
	return state.NotServed + duration.HumanDuration(s.Spec.MemberReplacementGrace())
}

// ReplaceDead removes a voter that has failed for the grace period while a quorum serves. Its node may be lost. Its
// volume is kept until another member has replaced it. If the Pod or its volume is bound to a lost node, the member cannot
// run elsewhere: it is removed from the membership first, and only then is its Pod deleted by force.
func ReplaceDead(s state.State) steps.Step {
	learner, learning := s.Learner()
	if learning && stranded(s, learner) {
		return steps.RemoveMember{ID: learner.ID, Name: learner.Name, Cause: unresponsiveCause(s)}
	}
	m, due := state.DeadVoter(s)
	switch {
	case !due:
	case !learning:
		return braked(s, steps.RemoveMember{ID: m.ID, Name: m.Name, Cause: unresponsiveCause(s)})
	case learner.Pod == state.PodBlocked:
		return steps.RemoveMember{ID: learner.ID, Name: learner.Name, Cause: state.MakesWay}
	}
	return nil
}

// stranded says whether a learner or its volume is bound to a lost node, or its volume has lost the data. Then another learner can start.
// Any other cause would also keep the next learner from starting.
func stranded(s state.State, learner state.Member) bool {
	tied := learner.Started && learner.Pod == state.PodBlocked && (learner.PodReason == v1beta2.ReasonPodUnschedulable || learner.Empty)
	return (learner.Pod == state.PodDeleting || tied) && state.UnreadyFor(s, learner, s.Spec.MemberReplacementGrace())
}

// ReplaceLost removes a member whose data is lost or corrupt, so that a new one can replace it. It removes a learner as soon
// as its data is about to be lost.
func ReplaceLost(s state.State) steps.Step {
	lost := s.Where(func(m state.Member) bool {
		gone := !s.HoldsData(m) && (m.Started || !state.JustAdded(s, m))
		return m.Incarnation == s.Incarnation && m.InMembership && (gone || (m.Corrupt && !s.Fenced(m.Name)) || (m.Learner && steps.LeavingCause(s, m) != ""))
	})
	for _, m := range lost {
		if m.Learner {
			if wait := waits.WaitForAttempt(s, []state.Member{m}); wait != nil && s.Surplus() <= len(steps.LeavingMembers(s)) {
				return wait // its Pod was evicted with its data, and so may be the next one
			}
			return steps.RemoveMember{ID: m.ID, Name: m.Name, Cause: cmp.Or(steps.LeavingCause(s, m), m.Wrong())}
		}
	}
	if len(lost) == 0 {
		return nil
	}
	if learner, ok := s.Learner(); ok {
		// One change at a time: the learner gets its vote first, or is removed if it cannot start.
		if learner.Pod == state.PodBlocked {
			return steps.RemoveMember{ID: learner.ID, Name: learner.Name, Cause: state.MakesWay}
		}
		return nil
	}
	if wait := waits.WaitForForeignLearner(s); wait != nil {
		return wait
	}
	victim := lost[0]
	if victim.Volume == state.VolumePresent && state.OnAnotherVolume(s, victim) {
		return waits.WaitForOther(s, victim)
	}
	if !s.Voters().KeepsQuorumWithout(false) {
		return steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Member " + victim.Name + " must be replaced, because " + victim.Wrong() + ". Removing it would leave no quorum, so the operator waits. Recover the members that are down.", Stalled: true}
	}
	return braked(s, steps.RemoveMember{ID: victim.ID, Name: victim.Name, Cause: victim.Wrong()})
}
