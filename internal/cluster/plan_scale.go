package cluster

import (
	"cmp"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// surplus is how many members there are too many.
func (s State) surplus() int { return len(s.membership()) - max(s.Spec.Size, 1) }

// losing says whether a member runs on a volume that is being deleted: it is lost with its Pod, and replaced before.
func (m Member) losing() bool { return m.InMembership && m.Volume == VolumeDeleting }

func (s State) losing() int {
	return len(s.where(func(m Member) bool { return m.Incarnation == s.Incarnation && m.losing() }))
}

// scaleDown removes one member too many: a learner, else one whose volume is being deleted, else one that does not
// serve, else the newest; never the leader.
func scaleDown(s State) Step {
	if !s.Formed() || s.surplus() <= 0 {
		return nil
	}
	candidates := s.membership()
	if s.surplus() <= s.losing() {
		if _, ok := s.learner(); ok {
			return nil // it takes the place of one that is losing its volume
		}
		candidates = s.where(func(m Member) bool { return m.Incarnation == s.Incarnation && m.losing() })
	}
	leader, ok := s.leader()
	if !ok {
		return Wait{Why: v1beta2.ReasonScaling, Message: "which member leads is not known for the moment, and it is not the one to go"}
	}
	if step := s.moveLeader(leader); leader.losing() && step != nil {
		return step // so that it can be the one to go
	}
	candidates = slices.DeleteFunc(slices.Clone(candidates), func(m Member) bool {
		return m.Leader || (!m.Learner && !s.Voters().KeepsQuorumWithout(m.Serving))
	})
	if len(candidates) == 0 {
		return nil // until members are well that are not; settle says which
	}
	victim := slices.MaxFunc(candidates, s.compareVictims)
	remove := RemoveMember{ID: victim.ID, Name: victim.Name}
	if victim.losing() {
		remove.Replace = losesVolume
	}
	return remove
}

// compareVictims orders members by how well they can be spared.
func (s State) compareVictims(a, b Member) int {
	return cmp.Or(
		cmp.Compare(rank(a.Learner), rank(b.Learner)),
		cmp.Compare(rank(a.losing()), rank(b.losing())),
		cmp.Compare(rank(!a.Serving), rank(!b.Serving)),
		cmp.Compare(s.ordinal(a), s.ordinal(b)),
		cmp.Compare(a.Name, b.Name),
	)
}

// scaleUp adds one learner.
func scaleUp(s State) Step {
	if !s.Formed() || s.surplus() >= s.losing() {
		return nil
	}
	if s.Durable() && s.NoStorageClass {
		return noStorageClass()
	}
	name := s.nextName()
	return AddLearner{Name: name, PeerURL: s.peerURL(name), Voter: !supportsLearners(s.lowestVersion())}
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
