package plan

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// A member that is about to lose its data is replaced while it serves. A learner joins, with the current spec, and gets its
// vote. Only then one such member is removed, the leader last. So there are never fewer copies than the spec asks for.
// A member loses its data if its volume is being deleted, or if its Pod must be recreated and holds the data (emptyDir).

// leavingCause says why a member of the cluster is about to lose its data. It is empty if the member is not.
func leavingCause(s state.State, m state.Member) string {
	switch {
	case !m.InMembership || m.Incarnation != s.Incarnation:
		return ""
	case state.VolumeLoss(s, m) != "":
		return state.VolumeLoss(s, m)
	case state.GoesWithPod(s, m) && stopStale(s, m) != nil && state.MayRoll(s):
		return state.PodRecreated
	case state.ReplacementAsked(s, m):
		return state.AskedFor
	}
	return ""
}

// leavingMembers are the members that are about to lose their data.
func leavingMembers(s state.State) []state.Member {
	return s.Where(func(m state.Member) bool { return leavingCause(s, m) != "" })
}

// inPlace names the member that a new member replaces. It is empty if the new member replaces none.
func inPlace(s state.State) string {
	leaving := leavingMembers(s)
	if len(leaving) == 0 || s.Surplus() < 0 {
		return ""
	}
	return " to replace member " + leaving[0].Name + ", because " + leavingCause(s, leaving[0])
}

// replacementUnschedulable reports that the learner that replaces such a member finds no node. One cause is antiAffinity
// with as many nodes as members.
func replacementUnschedulable(s state.State) Step {
	learner, ok := s.Learner()
	if !ok || learner.Pod != state.PodBlocked || learner.PodReason != v1beta2.ReasonPodUnschedulable {
		return nil
	}
	leaving := leavingMembers(s)
	if len(leaving) == 0 {
		return nil
	}
	first, wayOut := leaving[0], "Add a node."
	if leavingCause(s, first) == state.AskedFor {
		wayOut = "Add a node, or remove the annotation."
	}
	if leavingCause(s, first) == state.PodRecreated {
		wayOut = "Add a node, or undo the change in the spec."
	}
	return Wait{
		Reason: learner.PodReason,
		Message: planning.Sentence("Member "+learner.Name+" cannot be scheduled: ", learner.PodMessage) + " It replaces member " + first.Name +
			", because " + leavingCause(s, first) + ". " + state.Impact(s) + " Until then all members need a node of their own. " + wayOut,
		Stalled: true,
	}
}
