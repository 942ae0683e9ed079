package plan

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// A member that is about to lose its data is replaced while it serves. A learner joins, with the current spec, and gets its
// vote. Only then one such member is removed, the leader last. So there are never fewer copies than the spec asks for.
// A member loses its data if its volume is being deleted, or if its Pod must be recreated and holds the data (emptyDir).

// Causes of a loss of data.
const (
	volumeDeleted = "its volume is being deleted"
	volumeLost    = "its PersistentVolume does not exist any more"
	volumeAside   = "its volume was set aside"
	volumeGone    = "its PersistentVolumeClaim does not exist any more"
	volumeForced  = "a recovery from it was cancelled after it may have started alone"
	volumeOther   = "its PersistentVolumeClaim is not the one that it served on"
	// PodRecreated: the data is in the Pod.
	PodRecreated = "its Pod must be recreated and its data would be deleted with it"
)

// leavingCause says why a member of the cluster is about to lose its data. It is empty if the member is not.
func (s State) leavingCause(m Member) string {
	switch {
	case !m.InMembership || m.Incarnation != s.Incarnation:
		return ""
	case s.volumeLoss(m) != "":
		return s.volumeLoss(m)
	case s.goesWithPod(m) && s.stale(m) != nil && s.mayRoll():
		return PodRecreated
	case s.replacementAsked(m):
		return askedFor
	}
	return ""
}

// volumeLoss says what of a member's volume keeps its next Pod from having its data. It is empty for nothing. A claim that the operator
// has not seen yet is no loss: only a member that served on one can have lost it.
func (s State) volumeLoss(m Member) string {
	_, recorded := s.servedOn(m)
	switch {
	case m.Volume == VolumeDeleting:
		return volumeDeleted
	case m.Volume == VolumeLost:
		return volumeLost
	case s.OnAnotherVolume(m) && s.mayBeForced(m):
		return volumeForced
	case s.OnAnotherVolume(m):
		return volumeOther
	case m.Volume == VolumeNone && s.isAside(m.Name) && s.goesWithPod(m):
		return volumeAside
	case m.Volume == VolumeNone && !s.inPod(m) && recorded && s.goesWithPod(m):
		return volumeGone
	}
	return ""
}

// leavingMembers are the members that are about to lose their data.
func (s State) leavingMembers() []Member {
	return s.where(func(m Member) bool { return s.leavingCause(m) != "" })
}

// mayRoll says whether members may be restarted with the current spec. All other changes wait while the version is refused,
// or while the data is not prepared for it.
func (s State) mayRoll() bool {
	if !s.Formed() || !s.MembershipKnown || s.rollRefusal() != "" {
		return false
	}
	return s.readyFor(s.versions())
}

// inPlace names the member that a new member replaces. It is empty if the new member replaces none.
func (s State) inPlace() string {
	leaving := s.leavingMembers()
	if len(leaving) == 0 || s.surplus() < 0 {
		return ""
	}
	return " to replace member " + leaving[0].Name + ", because " + s.leavingCause(leaving[0])
}

// replacementUnschedulable reports that the learner that replaces such a member finds no node. One cause is antiAffinity
// with as many nodes as members.
func (s State) replacementUnschedulable() Step {
	learner, ok := s.learner()
	if !ok || learner.Pod != PodBlocked || learner.PodReason != v1beta2.ReasonPodUnschedulable {
		return nil
	}
	leaving := s.leavingMembers()
	if len(leaving) == 0 {
		return nil
	}
	first, wayOut := leaving[0], "Add a node."
	if s.leavingCause(first) == askedFor {
		wayOut = "Add a node, or remove the annotation."
	}
	if s.leavingCause(first) == PodRecreated {
		wayOut = "Add a node, or undo the change in the spec."
	}
	return Wait{
		Reason: learner.PodReason,
		Message: planning.Sentence("Member "+learner.Name+" cannot be scheduled: ", learner.PodMessage) + " It replaces member " + first.Name +
			", because " + s.leavingCause(first) + ". " + s.impact() + " Until then all members need a node of their own. " + wayOut,
		Stalled: true,
	}
}
