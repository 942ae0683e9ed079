package membership

import (
	"cmp"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// ScaleDown removes one surplus member. It prefers a learner, then one that is about to be replaced, then one that does not
// serve. Among the others it prefers one whose removal improves the spread over zones and nodes, then the newest. The leader comes
// last: who shares its zone improves the spread as much.
func ScaleDown(s state.State) steps.Step {
	if !s.Formed() || s.Surplus() <= 0 {
		return nil
	}
	if _, learning := state.ForeignLearner(s); learning {
		return nil // reportForeignMembers says so
	}
	candidates := s.Membership()
	if leaving := steps.LeavingMembers(s); s.Surplus() <= len(leaving) {
		if _, ok := s.Learner(); ok {
			return nil // it takes the place of one of them
		}
		candidates = leaving
	}
	leader, ok := s.Leader()
	if !ok && state.ForeignVoters(s) == 0 { // or one of them leads
		return steps.Wait{Reason: v1beta2.ReasonScaling, Message: "No member is the leader. The operator never removes the leader, so it waits until the members have elected one."}
	}
	candidates = slices.DeleteFunc(slices.Clone(candidates), func(m state.Member) bool {
		return !m.Learner && !s.Voters().KeepsQuorumWithout(m.Serving)
	})
	if len(candidates) == 0 {
		return nil // until members are well that are not; waitUntilHealthy reports which
	}
	victim := slices.MaxFunc(candidates, func(a state.Member, b state.Member) int { return compareForRemoval(s, a, b) })
	if victim.Leader {
		return waits.MoveLeader(s, leader) // so that it can be the one to go
	}
	return steps.RemoveMember{ID: victim.ID, Name: victim.Name, Cause: steps.LeavingCause(s, victim)}
}

// compareForRemoval orders members by how well they can be kept.
func compareForRemoval(s state.State, a, b state.Member) int {
	leaves := func(m state.Member) bool { return steps.LeavingCause(s, m) != "" }
	return cmp.Or(
		cmp.Compare(rank(a.Learner), rank(b.Learner)),
		cmp.Compare(rank(leaves(a)), rank(leaves(b))),
		cmp.Compare(rank(!a.Leader), rank(!b.Leader)),
		cmp.Compare(rankOfFence(s, a), rankOfFence(s, b)),
		cmp.Compare(rank(!a.Serving), rank(!b.Serving)),
		compareCrowds(s, a, b),
		cmp.Compare(state.Ordinal(s, a), state.Ordinal(s, b)),
		cmp.Compare(a.Name, b.Name),
	)
}

// rankOfFence orders members by their fences. A fenced member is kept for a person to look at. But if the smaller cluster
// could not keep it out of the client Service, it goes first: otherwise clients would reach it again.
func rankOfFence(s state.State, m state.Member) int {
	return rank(slices.Contains(s.Asked.Fence, m.Name) != state.KeepsFences(s))
}

// ScaleUp adds one learner.
func ScaleUp(s state.State) steps.Step {
	if !s.Formed() || s.Surplus() >= len(steps.LeavingMembers(s)) {
		return nil
	}
	if wait := waits.WaitForForeignLearner(s); wait != nil {
		return wait
	}
	if wait := waits.CannotAdd(s); wait != nil {
		if step := waits.ReclaimSpace(s); step != nil {
			return step // etcd refuses all writes until then, and the wait may be long
		}
		return wait
	}
	if wait := waitForPrepared(s); wait != nil {
		return wait
	}
	add := steps.AddLearner{Name: state.NextName(s), Voter: !state.SupportsLearners(state.LowestVersion(s))}
	add.PeerURL = state.PeerURL(s, add.Name)
	if add.Voter && s.Promoting != add.Name {
		return steps.RecordPromotion{Name: add.Name}
	}
	return add
}

func rank(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
