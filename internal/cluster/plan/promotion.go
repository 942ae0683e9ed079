package plan

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// RecordPromotion records that a member is about to vote, before it does: if quorum is lost in the next moment, the number
// of voters decides what the others may do.
type RecordPromotion struct{ Name string }

func (step RecordPromotion) describe(State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "Member " + step.Name + " is about to get its vote.",
		Requeue: requeueSoon,
	}
}

// MayVote reports whether a member that continues with its data may have a vote. Without a quorum, the recorded voters decide.
func (s State) MayVote(member string) bool {
	if !s.MembershipKnown && len(s.KnownVoters) > 0 {
		return slices.Contains(s.KnownVoters, member)
	}
	m, _ := s.member(member)
	return !m.Learner
}

// tooFew reports whether these members with data can never be a quorum of the known voters. If one of those may vote or not,
// quorum is lost only if it is lost either way.
func (s State) tooFew(holders []Member) bool {
	return !slices.ContainsFunc(s.bySource(), func(s State) bool { return !s.tooFewBySource(holders) })
}

func (s State) tooFewBySource(holders []Member) bool {
	holders = slices.DeleteFunc(slices.Clone(holders), func(m Member) bool { return !slices.Contains(s.KnownVoters, m.Name) })
	known, unseen := s.knownVoters(), len(s.unseenVoters())
	if known == 0 || len(holders)+unseen >= etcd.Quorum(known) {
		return false
	}
	doubted, is := s.doubtedVoter()
	if !is || known == 1 {
		return true
	}
	voted := slices.DeleteFunc(slices.Clone(holders), func(m Member) bool { return m.Name == doubted })
	if slices.ContainsFunc(s.unseenVoters(), func(m ForeignMember) bool { return m.ID.String() == doubted }) {
		unseen--
	}
	return len(voted)+unseen < etcd.Quorum(known-1)
}

// doubtedVoter is the one of the recorded voters that may have no vote: the operator ended while it gave the vote, or while
// it removed the member.
func (s State) doubtedVoter() (string, bool) {
	switch {
	case s.Promoting != "" && slices.Contains(s.KnownVoters, s.Promoting):
		return s.Promoting, true
	case s.Removing != "" && s.isKnownVoter(s.Removing):
		return s.Removing, true
	}
	return "", false
}

// isKnownVoter reports whether the record has a voter of that name, or a foreign one of that ID.
func (s State) isKnownVoter(name string) bool {
	return slices.Contains(s.KnownVoters, name) ||
		slices.ContainsFunc(s.ForeignMembers, func(m ForeignMember) bool { return !m.Learner && m.ID.String() == name })
}

// RecordRemoval takes a member that was removed off the record at once. If no quorum answers in the next moment, a record
// with more voters than there are would make the operator take a quorum that runs on for too few members.
func RecordRemoval(status *v1beta2.EtcdClusterStatus, step Step) {
	if removal, is := step.(RemoveMember); is {
		status.MemberStatuses = slices.DeleteFunc(status.MemberStatuses, func(m v1beta2.MemberStatus) bool { return m.Name == removal.Name })
		status.ForeignMembers = slices.DeleteFunc(status.ForeignMembers, func(m v1beta2.ForeignMember) bool { return m.ID == removal.ID.String() })
		status.RemovingMember = ""
	}
}

// fewestVoters is the smallest number of voters that the old cluster may have: one of the record may not vote.
func (s State) fewestVoters() int {
	if s.Dispute != nil {
		sources := s.bySource()
		return min(sources[0].fewestVoters(), sources[1].fewestVoters())
	}
	voters := s.oldVoters()
	if _, doubted := s.doubtedVoter(); doubted && !s.MembershipKnown {
		voters--
	}
	return voters
}

// stillPromoting keeps the record until a quorum answers that the member is no learner.
func (s State) stillPromoting(step Step) string {
	if added, is := step.(AddLearner); is && added.Name == s.Promoting {
		return s.Promoting
	}
	learning := slices.ContainsFunc(s.membership(), func(m Member) bool { return m.Name == s.Promoting && m.Learner })
	if s.MembershipKnown && !learning {
		return ""
	}
	return s.Promoting
}
