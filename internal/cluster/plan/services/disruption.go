package services

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// ApplyBudget keeps drains from taking quorum, and lets them go on. It is asked while a quorum answers, and before the
// membership changes: a learner that is about to vote is counted as a voter.
func ApplyBudget(s state.State) steps.Step {
	if !s.MembershipKnown || state.IsForeign(s, "PodDisruptionBudget", s.Name) {
		return nil
	}
	b := s.Budget
	if b.Other != "" {
		if b.Exists {
			return steps.WithdrawBudget{Other: b.Other}
		}
		return nil
	}
	want := steps.ApplyBudget{Incarnation: s.Incarnation, MinAvailable: state.MinAvailable(s)}
	if b.Exists && b.Current && b.Incarnation == want.Incarnation && b.MinAvailable == want.MinAvailable {
		return nil
	}
	return want
}
