package recovery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
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

// HearWitness takes the membership that members know, if no quorum answers. It decides what KnownVoters and ForeignMembers are.
func HearWitness(s *state.State) {
	witness, is := witness(*s)
	if !is {
		return
	}
	voters, foreign := sorted(*s, witness.Knows)
	s.ForeignMembers = alsoRecorded(foreign, s.ForeignMembers)
	switch {
	case mayBeOutranked(*s, witness, voters):
		disputeRecord(s, voters)
		return
	case !sameNames(s.KnownVoters, voters):
		s.RecordCorrected = whyCorrected(*s)
	}
	s.KnownVoters, s.Witness = voters, witness.Name
	s.Removing = ""
	if s.Promoting != "" && !learns(*s, witness, s.Promoting) {
		s.Promoting = ""
	}
}

// witness is the member of the current incarnation that has applied most of those that know the membership.
func witness(s state.State) (state.Member, bool) {
	if s.MembershipKnown || !s.Formed() {
		return state.Member{}, false
	}
	knowing := s.Where(func(m state.Member) bool { return m.Incarnation == s.Incarnation && m.KnowsItself() })
	if len(knowing) == 0 {
		return state.Member{}, false
	}
	return slices.MaxFunc(knowing, func(a, b state.Member) int {
		return cmp.Or(cmp.Compare(a.AppliedIndex, b.AppliedIndex), cmp.Compare(len(a.Knows), len(b.Knows)), strings.Compare(b.Name, a.Name))
	}), true
}

// sorted returns the operator's own voters of a membership by name, and the foreign members.
func sorted(s state.State, membership []etcd.Member) (voters []string, foreign []state.ForeignMember) {
	known := s.ForeignMembers
	s.ForeignMembers = nil
	for _, entry := range membership {
		name := state.NameOf(s, entry)
		var there *state.Member
		if i := slices.IndexFunc(s.Members, func(m state.Member) bool { return m.Name == name }); i >= 0 {
			there = &s.Members[i]
		}
		switch {
		case state.AddedByOthers(s, entry, there):
			state.RecordForeign(&s, entry, known)
		case !entry.Learner:
			voters = append(voters, name)
		}
	}
	slices.Sort(voters)
	return voters, s.ForeignMembers
}

// alsoRecorded returns the foreign members that a witness knows, and those that only the record has: they may have been added since, and
// may run.
func alsoRecorded(known, recorded []state.ForeignMember) []state.ForeignMember {
	for _, m := range recorded {
		if !slices.ContainsFunc(known, func(k state.ForeignMember) bool { return k.ID == m.ID }) {
			known = append(known, m)
		}
	}
	return known
}

// mayBeOutranked reports whether a member that has data may know a later membership than the witness. A member that neither the record nor
// the witness has may have been added after both, so it counts, too.
func mayBeOutranked(s state.State, witness state.Member, voters []string) bool {
	return slices.ContainsFunc(s.Current(), func(m state.Member) bool {
		learner := len(s.KnownVoters) > 0 && (slices.Contains(s.KnownLearners, m.Name) || learns(s, witness, m.Name))
		counts := !learner || slices.Contains(s.KnownVoters, m.Name) || slices.Contains(voters, m.Name)
		return counts && s.HoldsData(m) && !state.ContinuedWithout(s, m) && !m.SaidLearner() && !knowsAtMost(s, m, witness)
	})
}

// knowsAtMost reports whether a member has applied no more than the witness. One that was started without a quorum answers with nothing
// but the index that it has applied.
func knowsAtMost(s state.State, m, witness state.Member) bool {
	if m.Answers {
		return m.AppliedIndex <= witness.AppliedIndex
	}
	return m.RaftIndex != 0 && !replays(s, m) && m.RaftIndex <= uint64(max(witness.AppliedIndex, 0))
}

// disputeRecord counts both the record and what the members know. A record that is lost says nothing.
func disputeRecord(s *state.State, applied []string) {
	if len(s.KnownVoters) == 0 || sameNames(s.KnownVoters, applied) {
		return
	}
	s.Dispute = &state.Dispute{Recorded: s.KnownVoters, Applied: applied}
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
func learns(s state.State, witness state.Member, name string) bool {
	return slices.ContainsFunc(witness.Knows, func(entry etcd.Member) bool { return entry.Learner && state.NameOf(s, entry) == name })
}

// LearnsFromWitness reports whether the witness, if there is one, knows a member of that name as a learner.
func LearnsFromWitness(s state.State, name string) bool {
	witness, is := state.Find(s, s.Witness)
	return is && learns(s, witness, name)
}

// whyCorrected says what was wrong with the record.
func whyCorrected(s state.State) string {
	if len(s.KnownVoters) == 0 {
		return "the status had no record of the voters"
	}
	return "the status recorded other voters: " + strings.Join(s.KnownVoters, ", ")
}

// sourceOfVoters says by what the voters are counted, as a sentence with a space before it. It is empty if the record and the members agree.
func sourceOfVoters(s state.State) string {
	switch {
	case s.Dispute != nil:
		return fmt.Sprintf(" The status recorded %d voters of the operator, but the members that answer know %d. A member that has data and does not answer may know more, so both numbers count.",
			len(s.Dispute.Recorded), len(s.Dispute.Applied))
	case s.RecordCorrected != "":
		return " The voters are those that member " + s.Witness + " knows, because " + s.RecordCorrected + "."
	}
	return ""
}

// Unlisted are the members that have data and that the record does not have as members, while no member answers with the membership. If
// the record is old, they may be voters with newer data, so a recovery asks them, too.
func Unlisted(s state.State) []state.Member {
	if s.Witness != "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Current()), func(m state.Member) bool {
		return !s.HoldsData(m) || m.SaidLearner() || state.ContinuedWithout(s, m) || slices.Contains(s.KnownVoters, m.Name) || slices.Contains(s.KnownLearners, m.Name)
	})
}
