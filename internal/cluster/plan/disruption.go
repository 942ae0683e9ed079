package plan

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// ApplyBudget makes the PodDisruptionBudget as it should be.
type ApplyBudget struct {
	Incarnation  int32
	MinAvailable int
}

func (step ApplyBudget) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: fmt.Sprintf("The operator is setting the PodDisruptionBudget: drains must leave %d members.", step.MinAvailable),
		Requeue: state.RequeueSoon,
	}
}

// WithdrawBudget deletes it, because another one is for the same Pods.
type WithdrawBudget struct{ Other string }

func (step WithdrawBudget) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: "The operator is deleting its PodDisruptionBudget, because " + step.Other + " selects the same Pods.",
		Requeue: state.RequeueSoon,
	}
}

// applyBudget keeps drains from taking quorum, and lets them go on. It is asked while a quorum answers, and before the
// membership changes: a learner that is about to vote is counted as a voter.
func applyBudget(s state.State) Step {
	if !s.MembershipKnown || state.IsForeign(s, "PodDisruptionBudget", s.Name) {
		return nil
	}
	b := s.Budget
	if b.Other != "" {
		if b.Exists {
			return WithdrawBudget{Other: b.Other}
		}
		return nil
	}
	want := ApplyBudget{Incarnation: s.Incarnation, MinAvailable: state.MinAvailable(s)}
	if b.Exists && b.Current && b.Incarnation == want.Incarnation && b.MinAvailable == want.MinAvailable {
		return nil
	}
	return want
}

// outgrowsBudget waits with the vote of a learner while the PodDisruptionBudget cannot be raised for it: drains could then take quorum. If the
// budget does not protect the present quorum either, nothing is lost by the vote.
func outgrowsBudget(s state.State, learner state.Member) Step {
	b, voters, want := s.Budget, s.Voters().Total, state.MinAvailable(s)
	if !b.Exists || b.Other != "" || b.MinAvailable >= want || b.MinAvailable < etcd.Quorum(voters) {
		return nil
	}
	return Wait{
		Reason: v1beta2.ReasonScaling,
		Message: fmt.Sprintf("Learner %s gets its vote when the PodDisruptionBudget is raised. It lets drains leave %d members, and a quorum of %d voters is %d.",
			learner.Name, b.MinAvailable, voters+1, etcd.Quorum(voters+1)),
	}
}
