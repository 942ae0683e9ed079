package cluster

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// startMember makes the Pod of a member that should run and has none. A member that was started once comes back
// only with its data.
func startMember(s State) Step {
	if !s.Formed() || s.switching() {
		return nil
	}
	for _, m := range s.Current() {
		start, ok := s.startOf(m)
		switch {
		case m.Pod != PodNone || !ok:
		case m.Volume == VolumeNone && s.Durable() && s.NoStorageClass:
			return noStorageClass()
		case m.Volume != VolumeDeleting:
			return CreateMember{Name: m.Name, Incarnation: m.Incarnation, Start: start}
		}
	}
	return nil
}

// startOf says how a member without a Pod may come up, and false when it may not.
func (s State) startOf(m Member) (Start, bool) {
	switch {
	case !s.MembershipKnown:
		// No quorum to ask: who holds data goes on with it, nobody else starts.
		return StartRejoin, m.Volume == VolumePresent
	case !m.InMembership:
		return "", false
	case !m.Started:
		return StartJoin, true
	default:
		return StartRejoin, m.Volume == VolumePresent
	}
}

// expose lets clients reach a member once it votes: a learner refuses most requests.
func expose(s State) Step {
	for _, m := range s.Current() {
		if m.InMembership && m.Started && !m.Learner && !m.Exposed && m.Pod == PodRunning {
			return ExposeMember{Name: m.Name}
		}
	}
	return nil
}

// promote gives a learner its vote; etcd itself refuses while the learner has not caught up.
func promote(s State) Step {
	for _, m := range s.Current() {
		if m.InMembership && m.Learner && m.Started && m.Answers {
			return PromoteLearner{ID: m.ID, Name: m.Name}
		}
	}
	return nil
}

// removeOrphanPods stops Pods that are in no membership: of removed members, and of lives that are over.
func removeOrphanPods(s State) Step {
	if !s.MembershipKnown {
		return nil
	}
	for _, m := range s.Members {
		over := m.Incarnation < s.Incarnation || (m.Incarnation == s.Incarnation && !m.InMembership)
		if over && m.Pod != PodNone && m.Pod != PodDeleting {
			return DeletePod{Name: m.Name, Why: v1beta2.ReasonScaling, Message: "no longer a member of the cluster"}
		}
	}
	return nil
}

// replaceLost removes a member whose data is gone, so that a new one can take its place.
func replaceLost(s State) Step {
	for _, m := range s.Current() {
		if !m.InMembership || m.HoldsData() || !m.Started {
			continue
		}
		if m.Learner || s.Voters().KeepsQuorumWithout(false) {
			return RemoveMember{ID: m.ID, Name: m.Name, Lost: true}
		}
		return Wait{Why: v1beta2.ReasonQuorumLost, Message: "the data of member " + m.Name + " is gone, and removing it would leave no quorum", Stalled: true}
	}
	return nil
}

// scaleDown removes one member too many: a learner, else one that does not serve, else the newest; never the leader.
func scaleDown(s State) Step {
	members := s.where(func(m Member) bool { return m.Incarnation == s.Incarnation && m.InMembership })
	if !s.Formed() || len(members) <= s.Spec.Size {
		return nil
	}
	members = slices.DeleteFunc(members, func(m Member) bool { return m.Leader })
	victim := slices.MaxFunc(members, func(a, b Member) int {
		return cmp.Or(
			cmp.Compare(rank(a.Learner), rank(b.Learner)),
			cmp.Compare(rank(!a.Serving), rank(!b.Serving)),
			cmp.Compare(s.ordinal(a), s.ordinal(b)),
		)
	})
	if !victim.Learner && !s.Voters().KeepsQuorumWithout(victim.Serving) {
		return Wait{Why: v1beta2.ReasonScaling, Message: fmt.Sprintf("to shrink to %d now would lose quorum: waiting for members to get well", s.Spec.Size)}
	}
	return RemoveMember{ID: victim.ID, Name: victim.Name}
}

// scaleUp adds one learner.
func scaleUp(s State) Step {
	members := s.where(func(m Member) bool { return m.Incarnation == s.Incarnation && m.InMembership })
	if !s.Formed() || len(members) >= s.Spec.Size {
		return nil
	}
	if s.Durable() && s.NoStorageClass {
		return noStorageClass()
	}
	name := s.nextName()
	return AddLearner{Name: name, PeerURL: s.peerURL(name), Voter: !supportsLearners(s.lowestVersion())}
}

// deleteOldVolumes deletes volumes of removed members and of lives that are over: the cluster is at size and well
// when this rule is asked, so what replaces them is proven.
func deleteOldVolumes(s State) Step {
	if !s.MembershipKnown {
		return nil
	}
	for _, m := range s.Members {
		over := m.Incarnation < s.Incarnation || (m.Incarnation == s.Incarnation && !m.InMembership)
		if over && m.Pod == PodNone && m.Volume == VolumePresent {
			return DeleteVolume{Name: m.Name, Why: v1beta2.ReasonScaling}
		}
	}
	return nil
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

// anotherVoter is a healthy voter other than the leader, to lead next.
func (s State) anotherVoter(leader etcd.ID) (Member, bool) {
	for _, m := range s.Current() {
		if m.InMembership && !m.Learner && m.Serving && m.ID != leader {
			return m, true
		}
	}
	return Member{}, false
}
