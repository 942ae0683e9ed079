package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// surplus is by how many members the membership exceeds the spec.
func (s State) surplus() int { return len(s.membership()) - max(s.Spec.Size, 1) }

// scaleDown removes one surplus member. It prefers a learner, then one that is about to be replaced, then one that does not
// serve. Among the others it prefers one whose removal improves the spread over zones and nodes, then the newest. The leader comes
// last: who shares its zone improves the spread as much.
func scaleDown(s State) Step {
	if !s.Formed() || s.surplus() <= 0 {
		return nil
	}
	if _, learning := s.foreignLearner(); learning {
		return nil // reportForeignMembers says so
	}
	candidates := s.membership()
	if leaving := s.leavingMembers(); s.surplus() <= len(leaving) {
		if _, ok := s.learner(); ok {
			return nil // it takes the place of one of them
		}
		candidates = leaving
	}
	leader, ok := s.leader()
	if !ok && s.foreignVoters() == 0 { // or one of them leads
		return Wait{Reason: v1beta2.ReasonScaling, Message: "No member is the leader. The operator never removes the leader, so it waits until the members have elected one."}
	}
	candidates = slices.DeleteFunc(slices.Clone(candidates), func(m Member) bool {
		return !m.Learner && !s.Voters().KeepsQuorumWithout(m.Serving)
	})
	if len(candidates) == 0 {
		return nil // until members are well that are not; waitUntilHealthy reports which
	}
	victim := slices.MaxFunc(candidates, s.compareForRemoval)
	if victim.Leader {
		return s.moveLeader(leader) // so that it can be the one to go
	}
	return RemoveMember{ID: victim.ID, Name: victim.Name, Cause: s.leavingCause(victim)}
}

// compareForRemoval orders members by how well they can be kept.
func (s State) compareForRemoval(a, b Member) int {
	leaves := func(m Member) bool { return s.leavingCause(m) != "" }
	return cmp.Or(
		cmp.Compare(rank(a.Learner), rank(b.Learner)),
		cmp.Compare(rank(leaves(a)), rank(leaves(b))),
		cmp.Compare(rank(!a.Leader), rank(!b.Leader)),
		cmp.Compare(s.rankOfFence(a), s.rankOfFence(b)),
		cmp.Compare(rank(!a.Serving), rank(!b.Serving)),
		s.compareCrowds(a, b),
		cmp.Compare(s.ordinal(a), s.ordinal(b)),
		cmp.Compare(a.Name, b.Name),
	)
}

// rankOfFence orders members by their fences. A fenced member is kept for a person to look at. But if the smaller cluster
// could not keep it out of the client Service, it goes first: otherwise clients would reach it again.
func (s State) rankOfFence(m Member) int {
	return rank(slices.Contains(s.Asked.Fence, m.Name) != s.keepsFences())
}

// AddLearner adds a member to the membership.
type AddLearner struct {
	Name, PeerURL string
	// Voter starts it, and adds it with a vote at once, for etcd older than 3.4.
	Voter bool
}

func (step AddLearner) describe(s State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "The operator is adding member " + step.Name + s.inPlace() + ".",
		Requeue: requeueSoon,
	}, "AddingMember", planning.Pod(step.Name))
}

// scaleUp adds one learner.
func scaleUp(s State) Step {
	if !s.Formed() || s.surplus() >= len(s.leavingMembers()) {
		return nil
	}
	if wait := s.waitForForeignLearner(); wait != nil {
		return wait
	}
	if wait := s.cannotAdd(); wait != nil {
		if step := reclaimSpace(s); step != nil {
			return step // etcd refuses all writes until then, and the wait may be long
		}
		return wait
	}
	if wait := s.waitForPrepared(); wait != nil {
		return wait
	}
	add := AddLearner{Name: s.nextName(), Voter: !supportsLearners(s.lowestVersion())}
	add.PeerURL = s.PeerURL(add.Name)
	if add.Voter && s.Promoting != add.Name {
		return RecordPromotion{Name: add.Name}
	}
	return add
}

// cannotAdd is why no member can be added now.
func (s State) cannotAdd() Step {
	if s.Durable() && s.NoStorageClass {
		return noStorageClass()
	}
	if s.nextName() == "" {
		return Wait{
			Reason: v1beta2.ReasonScaling, Stalled: true,
			Message: fmt.Sprintf("No member can be added: volumes, Pods and annotations have all %d names of members. %s ", maxOrdinal, s.impact()) +
				"Remove names from the annotations of the EtcdCluster, or delete volumes in status.replacedVolumes that you do not need.",
		}
	}
	return learnersFail(s)
}

func rank(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// maxOrdinal bounds the search for a member's ordinal: names are reused from 0, so few are ever taken.
const maxOrdinal = 64

// ordinal of a member, by its name; members that others named come last.
func (s State) ordinal(m Member) int {
	for ordinal := range maxOrdinal {
		if memberName(s.Name, s.UID, m.Incarnation, ordinal) == m.Name {
			return ordinal
		}
	}
	return maxOrdinal
}
