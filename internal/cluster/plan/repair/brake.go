package repair

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// Whole reports whether the cluster has its size and all its members vote and serve, so that no lost member is being replaced.
func Whole(s state.State) bool {
	return s.MembershipKnown && s.Surplus() == 0 &&
		!slices.ContainsFunc(s.Membership(), func(m state.Member) bool { return m.Learner || !m.Serving })
}

// braked returns the step, or a wait if too many lost members of other EtcdClusters are being replaced.
func braked(s state.State, step steps.RemoveMember) steps.Step {
	if !s.Replacements.Held || !step.ReplacesLost() {
		return step
	}
	r := s.Replacements
	return steps.Wait{
		Reason: v1beta2.ReasonReplacementDelayed,
		Message: fmt.Sprintf("Member %s must be replaced, because %s. The operator replaces lost members in %d other clusters (limits: %d at the same time, %d begun in a minute), so this one waits. A quorum serves. If nodes are down, repair them.",
			step.Name, step.Cause, r.Running, r.Limit, r.PerMinute),
	}
}
