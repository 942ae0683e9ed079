package services

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// FenceMembers takes fenced members out of the client Service while another one serves in it. A learner is never in it, and
// if its Pod has the label nevertheless, the PodDisruptionBudget counts it as a voter.
func FenceMembers(s state.State) steps.Step {
	if m, is := s.Learner(); is && m.InService && m.Pod == state.PodRunning {
		return steps.RemoveFromService{Name: m.Name}
	}
	serves := slices.ContainsFunc(s.Current(), func(m state.Member) bool { return m.Serving && m.InService && !s.Fenced(m.Name) })
	for _, m := range s.Current() {
		if serves && m.InService && m.Pod == state.PodRunning && s.Fenced(m.Name) && waits.May(s, steps.RemoveFromService{Name: m.Name}) {
			return steps.RemoveFromService{Name: m.Name}
		}
	}
	return nil
}

// MoveLeaderAsked hands leadership over because an annotation asks for it. It comes after all changes that move leadership
// themselves, so that these do not move it back.
func MoveLeaderAsked(s state.State) steps.Step {
	leader, ok := s.Leader()
	if !ok || !state.ShouldNotLead(s, leader.Name) {
		return nil
	}
	if move, is := waits.MoveLeader(s, leader).(steps.MoveLeader); is && !state.ShouldNotLead(s, move.Name) {
		return move
	}
	return nil
}

// ReportRefused names what annotations ask for and the operator does not do, because it could leave no quorum.
func ReportRefused(s state.State) steps.Step {
	if !s.MembershipKnown {
		return nil
	}
	for _, m := range s.Current() {
		if m.InMembership && !m.Learner && slices.Contains(s.Asked.Fence, m.Name) && !s.Fenced(m.Name) {
			return refusedAnnotation(v1beta2.AnnotationFence, fmt.Sprintf("to fence member %s. The client Service must keep a quorum, %d of %d voters. Remove a name from the annotation, or raise spec.size.",
				m.Name, etcd.Quorum(s.Voters().Total), s.Voters().Total))
		}
	}
	if leader, ok := s.Leader(); ok && slices.Contains(s.Asked.MoveLeader, leader.Name) {
		return refusedAnnotation(v1beta2.AnnotationMoveLeader, "that member "+leader.Name+" does not lead, but no other voter can lead. Remove a name from the annotation, or raise spec.size.")
	}
	return nil
}

func refusedAnnotation(annotation, what string) steps.Step {
	return steps.Wait{
		Reason: v1beta2.ReasonRequestRefused, Stalled: true, Requeue: state.RequeueForeign,
		Message: "Annotation " + annotation + " asks " + what + " The members serve as before.",
	}
}
