package cluster

import (
	"cmp"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// startMember makes the Pod of a member that should run and has none. A member that was started once comes back
// only with its data.
func startMember(s State) Step {
	if !s.Formed() || s.switching() {
		return nil
	}
	noVolume := false
	for _, m := range s.Current() {
		start, ok := s.startOf(m)
		switch {
		case m.Pod != PodNone || m.Volume == VolumeDeleting || !ok:
		case m.Volume == VolumeNone && s.Durable() && s.NoStorageClass:
			noVolume = true
		default:
			return CreateMember{Name: m.Name, Incarnation: m.Incarnation, Start: start}
		}
	}
	if noVolume {
		return noStorageClass()
	}
	return nil
}

// startOf says how a member without a Pod may come up, and false when it may not.
func (s State) startOf(m Member) (Start, bool) {
	held := m.Volume == VolumePresent
	switch {
	case !s.MembershipKnown:
		// No quorum to ask: who holds data goes on with it, nobody else starts.
		return StartRejoin, held
	case !m.InMembership:
		return "", false
	case m.Started:
		return StartRejoin, held
	default:
		return StartJoin, held || s.justAdded(m)
	}
}

// justAdded says whether a member that has not started was added to a formed cluster, and so has never voted. A
// voter that was there from the beginning may have voted before it could say that it started.
func (s State) justAdded(m Member) bool {
	return m.Learner || !supportsLearners(s.lowestVersion())
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

// promote gives a learner its vote, unless the cluster is to shrink: then the learner is the first to go. etcd
// itself refuses while the learner has not caught up.
func promote(s State) Step {
	if s.surplus() > s.losing() {
		return nil
	}
	for _, m := range s.membership() {
		if m.Learner && m.Started && m.Answers && !m.losing() {
			return PromoteLearner{ID: m.ID, Name: m.Name}
		}
	}
	return nil
}

// membership is what etcd knows of the current incarnation.
func (s State) membership() []Member {
	return s.where(func(m Member) bool { return m.Incarnation == s.Incarnation && m.InMembership })
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

// Why members are replaced.
const (
	lostData    = "its data is gone"
	losesVolume = "its volume is being deleted"
	makesWay    = "it cannot start, and another is to be replaced"
	isDead      = "it has not served for 5 minutes"
)

// deadGrace is how long a member may not serve before another takes its place.
const deadGrace = 5 * time.Minute

// replaceDead removes a voter that has not served for long while a quorum does: its host is gone, or its data is
// no good. Its volume stays until another has taken its place. A learner is replaced only when its host is gone:
// what keeps one learner from starting keeps the next one, too.
func replaceDead(s State) Step {
	learner, learning := s.learner()
	if learning && learner.Pod == PodDeleting && s.unreadyFor(learner, deadGrace) {
		return RemoveMember{ID: learner.ID, Name: learner.Name, Replace: isDead}
	}
	if learning || !s.Voters().KeepsQuorumWithout(false) {
		return nil
	}
	for _, m := range s.membership() {
		if !m.Serving && m.PodReason != v1beta2.ReasonImageUnavailable && s.unreadyFor(m, deadGrace) {
			return RemoveMember{ID: m.ID, Name: m.Name, Replace: isDead}
		}
	}
	return nil
}

// replaceLost removes a member whose data is gone, so that a new one can take its place; a learner already when its
// data is about to go.
func replaceLost(s State) Step {
	lost := s.where(func(m Member) bool {
		gone := !s.HoldsData(m) && (m.Started || !s.justAdded(m))
		return m.Incarnation == s.Incarnation && m.InMembership && (gone || (m.Learner && m.losing()))
	})
	for _, m := range lost {
		if m.Learner && m.losing() {
			return RemoveMember{ID: m.ID, Name: m.Name, Replace: losesVolume}
		}
		if m.Learner {
			return RemoveMember{ID: m.ID, Name: m.Name, Replace: lostData}
		}
	}
	if len(lost) == 0 {
		return nil
	}
	if learner, ok := s.learner(); ok {
		// One change at a time: the learner gets its vote first, or goes if it cannot start.
		if learner.Pod == PodBlocked {
			return RemoveMember{ID: learner.ID, Name: learner.Name, Replace: makesWay}
		}
		return nil
	}
	victim := lost[0]
	if !s.Voters().KeepsQuorumWithout(false) {
		return Wait{Why: v1beta2.ReasonQuorumLost, Message: "the data of member " + victim.Name + " is gone, and removing it would leave no quorum", Stalled: true}
	}
	return RemoveMember{ID: victim.ID, Name: victim.Name, Replace: lostData}
}

// learner is the member that has no vote yet. There is at most one that the operator added.
func (s State) learner() (Member, bool) {
	for _, m := range s.membership() {
		if m.Learner {
			return m, true
		}
	}
	return Member{}, false
}

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

// leave waits for the Pods of removed members, so that a cluster that says Ready has as many Pods as members.
func leave(s State) Step {
	for _, m := range s.Current() {
		if s.MembershipKnown && !m.InMembership && m.Pod == PodDeleting {
			return s.waitGone(m, v1beta2.ReasonScaling, "member "+m.Name+" was removed and its Pod is stopping")
		}
	}
	return nil
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

// leader of the current incarnation, as it says itself.
func (s State) leader() (Member, bool) {
	for _, m := range s.membership() {
		if m.Leader {
			return m, true
		}
	}
	return Member{}, false
}

// moveLeader hands leadership to a healthy voter that stays.
func (s State) moveLeader(from Member) Step {
	for _, m := range s.membership() {
		if !m.Learner && m.Serving && m.ID != from.ID && !m.losing() {
			return MoveLeader{From: from.Name, To: m.ID, Name: m.Name}
		}
	}
	return nil
}
