package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Budget says how the PodDisruptionBudget stands, which lets a drain take as many members as quorum tolerates.
type Budget struct {
	// Exists: the cluster has one. Current: but for the number it is as it should be for Incarnation.
	Exists, Current bool
	Incarnation     int32
	// MinAvailable is how many members a drain has to leave.
	MinAvailable int
	// Other names one that somebody else made for the same Pods. Kubernetes evicts no Pod that has two.
	Other string
}

// ApplyBudget makes the PodDisruptionBudget as it should be.
type ApplyBudget struct {
	Incarnation  int32
	MinAvailable int
}

func (step ApplyBudget) describe(State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: fmt.Sprintf("The operator is setting the PodDisruptionBudget: drains must leave %d members.", step.MinAvailable),
		Requeue: requeueSoon,
	}
}

// WithdrawBudget deletes it, because another one is for the same Pods.
type WithdrawBudget struct{ Other string }

func (step WithdrawBudget) describe(State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: "The operator is deleting its PodDisruptionBudget, because " + step.Other + " selects the same Pods.",
		Requeue: requeueSoon,
	}
}

// applyBudget keeps drains from taking quorum, and lets them go on. It is asked while a quorum answers, and before the
// membership changes: a learner that is about to vote is counted as a voter.
func applyBudget(s State) Step {
	if !s.MembershipKnown || s.IsForeign("PodDisruptionBudget", s.Name) {
		return nil
	}
	b := s.Budget
	if b.Other != "" {
		if b.Exists {
			return WithdrawBudget{Other: b.Other}
		}
		return nil
	}
	want := ApplyBudget{Incarnation: s.Incarnation, MinAvailable: s.minAvailable()}
	if b.Exists && b.Current && b.Incarnation == want.Incarnation && b.MinAvailable == want.MinAvailable {
		return nil
	}
	return want
}

// outgrowsBudget waits with the vote of a learner while the PodDisruptionBudget cannot be raised for it: drains could then take quorum. If the
// budget does not protect the present quorum either, nothing is lost by the vote.
func (s State) outgrowsBudget(learner Member) Step {
	b, voters, want := s.Budget, s.Voters().Total, s.minAvailable()
	if !b.Exists || b.Other != "" || b.MinAvailable >= want || b.MinAvailable < etcd.Quorum(voters) {
		return nil
	}
	return Wait{
		Reason: v1beta2.ReasonScaling,
		Message: fmt.Sprintf("Learner %s gets its vote when the PodDisruptionBudget is raised. It lets drains leave %d members, and a quorum of %d voters is %d.",
			learner.Name, b.MinAvailable, voters+1, etcd.Quorum(voters+1)),
	}
}

// minAvailable is how many members a drain has to leave. A quorum, and with it one for each Pod that still looks
// like a voter and is none. A cluster that is meant to have one or two members cannot lose any and keep quorum: its
// members go one at a time and come back with their data, for else a drain would never end. With emptyDir they would
// not, and the drain has to wait for a person.
func (s State) minAvailable() int {
	voters, leaving := len(s.ForeignMembers), 0
	for _, m := range s.Current() {
		switch {
		case (!m.InMembership || (m.Learner && !m.Answers)) && m.InService && m.Pod == PodRunning:
			leaving++
		case m.InMembership && (!m.Learner || (m.Started && m.Answers)):
			voters++
		}
	}
	if s.Durable() && s.Spec.Size <= 2 && voters <= 2 && len(s.ForeignMembers) == 0 && !slices.ContainsFunc(s.Current(), s.goesWithPod) {
		return max(voters-1, 0) + leaving
	}
	return etcd.Quorum(voters) + leaving
}
