package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// While no quorum answers, nobody confirms the membership. Two sources are left:
//
//   - The record in the status is what a quorum last answered to the operator. It can be lost, an API backup can bring back an old one,
//     and a person can add or remove a member after it was written.
//   - A member that answers knows the membership that it has applied. Raft counts votes by just that, so members that run can elect a
//     leader only by what they have applied. A member that was cut off has an old membership, so the one that has applied most counts.
//
// What the members know outranks the record only if no member with data may know more. Otherwise both count: quorum is lost if it is
// lost by both, and a foreign member of either may serve clients.

// Dispute is what members know and the record has, if a member that has data may know more than those that answered.
type Dispute struct{ Recorded, Applied []string }

// HearWitness takes the membership that members know, if no quorum answers. It decides what KnownVoters and ForeignMembers are.
func (s *State) HearWitness() {
	witness, is := s.witness()
	if !is {
		return
	}
	voters, foreign := s.sorted(witness.Knows)
	s.ForeignMembers = alsoRecorded(foreign, s.ForeignMembers)
	switch {
	case s.mayBeOutranked(witness, voters):
		s.disputeRecord(voters)
		return
	case !sameNames(s.KnownVoters, voters):
		s.RecordCorrected = s.whyCorrected()
	}
	s.KnownVoters, s.Witness = voters, witness.Name
	s.Removing = ""
	if s.Promoting != "" && !s.learns(witness, s.Promoting) {
		s.Promoting = ""
	}
}

// witness is the member of the current incarnation that has applied most of those that know the membership.
func (s State) witness() (Member, bool) {
	if s.MembershipKnown || !s.Formed() {
		return Member{}, false
	}
	knowing := s.where(func(m Member) bool { return m.Incarnation == s.Incarnation && m.knowsItself() })
	if len(knowing) == 0 {
		return Member{}, false
	}
	return slices.MaxFunc(knowing, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.AppliedIndex, b.AppliedIndex), cmp.Compare(len(a.Knows), len(b.Knows)), strings.Compare(b.Name, a.Name))
	}), true
}

// knowsItself reports whether a member answered with a membership that it is in. One that was removed has another one.
func (m Member) knowsItself() bool {
	return m.Answers && slices.ContainsFunc(m.Knows, func(entry etcd.Member) bool { return entry.ID == m.ID })
}

// sorted returns the operator's own voters of a membership by name, and the foreign members.
func (s State) sorted(membership []etcd.Member) (voters []string, foreign []ForeignMember) {
	known := s.ForeignMembers
	s.ForeignMembers = nil
	for _, entry := range membership {
		name := s.nameOf(entry)
		var there *Member
		if i := slices.IndexFunc(s.Members, func(m Member) bool { return m.Name == name }); i >= 0 {
			there = &s.Members[i]
		}
		switch {
		case s.addedByOthers(entry, there):
			s.recordForeign(entry, known)
		case !entry.Learner:
			voters = append(voters, name)
		}
	}
	slices.Sort(voters)
	return voters, s.ForeignMembers
}

// alsoRecorded returns the foreign members that a witness knows, and those that only the record has: they may have been added since, and
// may run.
func alsoRecorded(known, recorded []ForeignMember) []ForeignMember {
	for _, m := range recorded {
		if !slices.ContainsFunc(known, func(k ForeignMember) bool { return k.ID == m.ID }) {
			known = append(known, m)
		}
	}
	return known
}

// mayBeOutranked reports whether a member that has data may know a later membership than the witness. A member that neither the record nor
// the witness has may have been added after both, so it counts, too.
func (s State) mayBeOutranked(witness Member, voters []string) bool {
	return slices.ContainsFunc(s.Current(), func(m Member) bool {
		learner := len(s.KnownVoters) > 0 && (slices.Contains(s.KnownLearners, m.Name) || s.learns(witness, m.Name))
		counts := !learner || slices.Contains(s.KnownVoters, m.Name) || slices.Contains(voters, m.Name)
		return counts && s.HoldsData(m) && !s.continuedWithout(m) && !m.saidLearner() && !s.knowsAtMost(m, witness)
	})
}

// saidLearner reports whether a member answers that it has no vote.
func (m Member) saidLearner() bool { return m.Answers && m.Learner }

// knowsAtMost reports whether a member has applied no more than the witness. One that was started without a quorum answers with nothing
// but the index that it has applied.
func (s State) knowsAtMost(m, witness Member) bool {
	if m.Answers {
		return m.AppliedIndex <= witness.AppliedIndex
	}
	return m.RaftIndex != 0 && !s.replays(m) && m.RaftIndex <= uint64(max(witness.AppliedIndex, 0))
}

// disputeRecord counts both the record and what the members know. A record that is lost says nothing.
func (s *State) disputeRecord(applied []string) {
	if len(s.KnownVoters) == 0 || sameNames(s.KnownVoters, applied) {
		return
	}
	s.Dispute = &Dispute{Recorded: s.KnownVoters, Applied: applied}
	s.KnownVoters = slices.Clone(s.KnownVoters)
	for _, name := range applied {
		if !slices.Contains(s.KnownVoters, name) {
			s.KnownVoters = append(s.KnownVoters, name)
		}
	}
}

func sameNames(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(name string) bool { return !slices.Contains(b, name) })
}

// learns reports whether a witness knows a member of that name as a learner.
func (s State) learns(witness Member, name string) bool {
	return slices.ContainsFunc(witness.Knows, func(entry etcd.Member) bool { return entry.Learner && s.nameOf(entry) == name })
}

// learnsFromWitness reports whether the witness, if there is one, knows a member of that name as a learner.
func (s State) learnsFromWitness(name string) bool {
	witness, is := s.member(s.Witness)
	return is && s.learns(witness, name)
}

// whyCorrected says what was wrong with the record.
func (s State) whyCorrected() string {
	if len(s.KnownVoters) == 0 {
		return "the status had no record of the voters"
	}
	return "the status recorded other voters: " + strings.Join(s.KnownVoters, ", ")
}

// sourceOfVoters says by what the voters are counted, as a sentence with a space before it. It is empty if the record and the members agree.
func (s State) sourceOfVoters() string {
	switch {
	case s.Dispute != nil:
		return fmt.Sprintf(" The status recorded %d voters of the operator, but the members that answer know %d. A member that has data and does not answer may know more, so both numbers count.",
			len(s.Dispute.Recorded), len(s.Dispute.Applied))
	case s.RecordCorrected != "":
		return " The voters are those that member " + s.Witness + " knows, because " + s.RecordCorrected + "."
	}
	return ""
}

// bySource returns the States to decide in that a quorum is lost: one for the record, and one for what members know.
func (s State) bySource() []State {
	if s.Dispute == nil {
		return []State{s}
	}
	recorded, applied := s, s
	recorded.KnownVoters, recorded.Dispute = s.Dispute.Recorded, nil
	applied.KnownVoters, applied.Dispute = s.Dispute.Applied, nil
	applied.Promoting, applied.Removing = "", ""
	return []State{recorded, applied}
}

// unlisted are the members that have data and that the record does not have as members, while no member answers with the membership. If
// the record is old, they may be voters with newer data, so a recovery asks them, too.
func (s State) unlisted() []Member {
	if s.Witness != "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Current()), func(m Member) bool {
		return !s.HoldsData(m) || m.saidLearner() || s.continuedWithout(m) || slices.Contains(s.KnownVoters, m.Name) || slices.Contains(s.KnownLearners, m.Name)
	})
}
