package plan

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// BeginRemoval records that a voter is about to be removed. If the operator ends after the removal, and before it can record
// it, the record has one voter too many. An even number of voters needs a larger quorum than one voter less, so the operator
// would take a quorum for lost that can still form.
type BeginRemoval struct {
	// Voter is the name of the member, or the ID of a foreign one.
	Voter string
	// Name is what people call it.
	Name string
}

func (step BeginRemoval) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "Member " + step.Name + " is about to be removed.",
		Requeue: state.RequeueSoon,
	}
}

// recordedFirst puts the record of a removal before the removal, if the number of voters is even.
func recordedFirst(s state.State, step Step) Step {
	removal, is := step.(RemoveMember)
	voter, votes := voterOf(s, removal.ID)
	if !is || !votes || s.Removing == voter || s.Voters().Total%2 != 0 {
		return step
	}
	return BeginRemoval{Voter: voter, Name: removal.Name}
}

// voterOf returns what a voter is recorded as.
func voterOf(s state.State, id etcd.ID) (string, bool) {
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

// stillRemoving keeps the record until a quorum answers without the voter, or the operator does something else.
func stillRemoving(s state.State, step Step) string {
	if !s.MembershipKnown || s.Removing == "" {
		return s.Removing
	}
	votes := slices.ContainsFunc(s.Membership(), func(m state.Member) bool { return m.Name == s.Removing && !m.Learner }) ||
		slices.ContainsFunc(s.ForeignMembers, func(m state.ForeignMember) bool { return m.ID.String() == s.Removing && !m.Learner })
	switch step.(type) {
	case RemoveMember, Wait:
		if votes {
			return s.Removing
		}
	}
	return ""
}
