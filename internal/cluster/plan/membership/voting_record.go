package membership

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// MayVote reports whether a member that continues with its data may have a vote. Without a quorum, the recorded voters decide.
func MayVote(s state.State, member string) bool {
	if !s.MembershipKnown && len(s.KnownVoters) > 0 {
		return slices.Contains(s.KnownVoters, member)
	}
	m, _ := state.Find(s, member)
	return !m.Learner
}

// RecordRemoval takes a member that was removed off the record at once. If no quorum answers in the next moment, a record
// with more voters than there are would make the operator take a quorum that runs on for too few members.
func RecordRemoval(status *v1beta2.EtcdClusterStatus, step steps.Step) {
	if removal, is := step.(steps.RemoveMember); is {
		status.MemberStatuses = slices.DeleteFunc(status.MemberStatuses, func(m v1beta2.MemberStatus) bool { return m.Name == removal.Name })
		status.ForeignMembers = slices.DeleteFunc(status.ForeignMembers, func(m v1beta2.ForeignMember) bool { return m.ID == removal.ID.String() })
		status.RemovingMember = ""
	}
}

// StillPromoting keeps the record until a quorum answers that the member is no learner.
func StillPromoting(s state.State, step steps.Step) string {
	if added, is := step.(steps.AddLearner); is && added.Name == s.Promoting {
		return s.Promoting
	}
	learning := slices.ContainsFunc(s.Membership(), func(m state.Member) bool { return m.Name == s.Promoting && m.Learner })
	if s.MembershipKnown && !learning {
		return ""
	}
	return s.Promoting
}
