package membership

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// RecordedFirst puts the record of a removal before the removal, if the number of voters is even.
func RecordedFirst(s state.State, step steps.Step) steps.Step {
	removal, is := step.(steps.RemoveMember)
	voter, votes := VoterOf(s, removal.ID)
	if !is || !votes || s.Removing == voter || s.Voters().Total%2 != 0 {
		return step
	}
	return steps.BeginRemoval{Voter: voter, Name: removal.Name}
}

// VoterOf returns what a voter is recorded as.
func VoterOf(s state.State, id etcd.ID) (string, bool) {
	for _, m := range s.Membership() {
		if m.ID == id {
			return m.Name, !m.Learner
		}
	}
	for _, m := range s.ForeignMembers {
		if m.ID == id {
			return id.String(), !m.Learner
		}
	}
	return "", false
}

// StillRemoving keeps the record until a quorum answers without the voter, or the operator does something else.
func StillRemoving(s state.State, step steps.Step) string {
	if !s.MembershipKnown || s.Removing == "" {
		return s.Removing
	}
	votes := slices.ContainsFunc(s.Membership(), func(m state.Member) bool { return m.Name == s.Removing && !m.Learner }) ||
		slices.ContainsFunc(s.ForeignMembers, func(m state.ForeignMember) bool { return m.ID.String() == s.Removing && !m.Learner })
	switch step.(type) {
	case steps.RemoveMember, steps.Wait:
		if votes {
			return s.Removing
		}
	}
	return ""
}
