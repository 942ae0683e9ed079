package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Replacements are those of members that were lost, in all EtcdClusters of this operator. If a node or a zone is lost, all their
// members are due at the same time. The node may come back, and new members copy whole databases.
type Replacements struct {
	// Held: too many run or have begun, so this EtcdCluster waits.
	Held bool
	// Running is how many EtcdClusters replace a lost member, Limit the maximum, and PerMinute how many may begin in a minute.
	Running, Limit, PerMinute int
}

// ReplacesLost reports whether the step begins the replacement of a member that was lost.
func (step RemoveMember) ReplacesLost() bool { return step.Unresponsive() || step.DataGone() }

// Whole reports whether the cluster has its size and all its members vote and serve, so that no lost member is being replaced.
func (s State) Whole() bool {
	return s.MembershipKnown && s.surplus() == 0 &&
		!slices.ContainsFunc(s.membership(), func(m Member) bool { return m.Learner || !m.Serving })
}

// braked returns the step, or a wait if too many lost members of other EtcdClusters are being replaced.
func (s State) braked(step RemoveMember) Step {
	if !s.Replacements.Held || !step.ReplacesLost() {
		return step
	}
	r := s.Replacements
	return Wait{
		Reason: v1beta2.ReasonReplacementDelayed,
		Message: fmt.Sprintf("Member %s must be replaced, because %s. The operator replaces lost members in %d other clusters (limits: %d at the same time, %d begun in a minute), so this one waits. A quorum serves. If nodes are down, repair them.",
			step.Name, step.Cause, r.Running, r.Limit, r.PerMinute),
	}
}
