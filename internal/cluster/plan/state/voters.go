package state

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// MinAvailable is how many members a drain has to leave. A quorum, and with it one for each Pod that still looks
// like a voter and is none. A cluster that is meant to have one or two members cannot lose any and keep quorum: its
// members go one at a time and come back with their data, for else a drain would never end. With emptyDir they would
// not, and the drain has to wait for a person.
func MinAvailable(s State) int {
	voters, leaving := len(s.ForeignMembers), 0
	for _, m := range s.Current() {
		switch {
		case (!m.InMembership || (m.Learner && !m.Answers)) && m.InService && m.Pod == PodRunning:
			leaving++
		case m.InMembership && (!m.Learner || (m.Started && m.Answers)):
			voters++
		}
	}
	if s.Durable() && s.Spec.Size <= 2 && voters <= 2 && len(s.ForeignMembers) == 0 && !slices.ContainsFunc(s.Current(), func(m Member) bool { return GoesWithPod(s, m) }) {
		return max(voters-1, 0) + leaving
	}
	return etcd.Quorum(voters) + leaving
}

// While no quorum answers the operator, foreign members may be one and serve clients that the operator cannot see. What it does with the
// cluster then could lose their writes, so a person must say that they have stopped.

// While no quorum answers the operator, foreign members may be one and serve clients that the operator cannot see. What it does with the
// cluster then could lose their writes, so a person must say that they have stopped.

// MaybeServing returns the foreign members that may run: no annotation says that they have stopped.
func MaybeServing(s State) []ForeignMember {
	return slices.DeleteFunc(slices.Clone(s.ForeignMembers), func(m ForeignMember) bool { return saidStopped(s, m) })
}

// saidStopped reports whether an annotation says that a foreign member has stopped. It must name its ID: several members can have the
// same name, also one that somebody adds later.
func saidStopped(s State, m ForeignMember) bool {
	return slices.ContainsFunc(s.Asked.StoppedForeign, func(said string) bool {
		id, err := etcd.ParseID(said)
		return err == nil && id == m.ID
	})
}

// WithAllStopped returns the State as it is after the statement that all foreign members have stopped.
func WithAllStopped(s State) State {
	s.Asked.StoppedForeign = nil
	for _, m := range s.ForeignMembers {
		s.Asked.StoppedForeign = append(s.Asked.StoppedForeign, m.ID.String())
	}
	return s
}

// VotersBeside returns the smallest number of voters if all these foreign members vote. One of the recorded voters may have no vote, and
// each learner may have one by now.
func VotersBeside(s State, foreign []ForeignMember) int {
	voters := fewestVoters(s)
	doubted, doubts := doubtedVoter(s)
	for _, m := range foreign {
		if m.Learner || !s.MembershipKnown && doubts && m.ID.String() == doubted {
			voters++
		}
	}
	return voters
}

// MayBeQuorum returns whether these foreign members and a number of the operator's own members may be a quorum.
func MayBeQuorum(s State, foreign []ForeignMember, own int) bool {
	return len(foreign) > 0 && len(foreign)+own >= etcd.Quorum(max(VotersBeside(s, foreign), 0))
}

// UnlessForeignQuorum returns lost, which reports a lost quorum. If the foreign members may be a quorum by themselves, it returns
// what the operator knows instead: they may serve clients, and have data that no snapshot has.
func UnlessForeignQuorum(s State, lost string) string {
	serving := MaybeServing(s)
	if KnownVoters(s) == 0 || !MayBeQuorum(s, serving, 0) {
		return lost
	}
	return "No quorum answers the operator. Members that it did not add may be a quorum by themselves, and serve clients: " + Labels(serving) +
		". To keep their data, save it with an EtcdBackup by etcdEndpoints, and apply an EtcdRestore of that snapshot. If they are lost: " + SayStopped(s)
}

// Membership is what etcd knows of the current incarnation.
func (s State) Membership() []Member {
	return s.Where(func(m Member) bool { return m.Incarnation == s.Incarnation && m.InMembership })
}

// TooFew reports whether these members with data can never be a quorum of the known voters. If one of those may vote or not,
// quorum is lost only if it is lost either way.
func TooFew(s State, holders []Member) bool {
	return !slices.ContainsFunc(bySource(s), func(s State) bool { return !tooFewBySource(s, holders) })
}

func tooFewBySource(s State, holders []Member) bool {
	holders = slices.DeleteFunc(slices.Clone(holders), func(m Member) bool { return !slices.Contains(s.KnownVoters, m.Name) })
	known, unseen := KnownVoters(s), len(UnseenVoters(s))
	if known == 0 || len(holders)+unseen >= etcd.Quorum(known) {
		return false
	}
	doubted, is := doubtedVoter(s)
	if !is || known == 1 {
		return true
	}
	voted := slices.DeleteFunc(slices.Clone(holders), func(m Member) bool { return m.Name == doubted })
	if slices.ContainsFunc(UnseenVoters(s), func(m ForeignMember) bool { return m.ID.String() == doubted }) {
		unseen--
	}
	return len(voted)+unseen < etcd.Quorum(known-1)
}

// doubtedVoter is the one of the recorded voters that may have no vote: the operator ended while it gave the vote, or while
// it removed the member.
func doubtedVoter(s State) (string, bool) {
	switch {
	case s.Promoting != "" && slices.Contains(s.KnownVoters, s.Promoting):
		return s.Promoting, true
	case s.Removing != "" && isKnownVoter(s, s.Removing):
		return s.Removing, true
	}
	return "", false
}

// isKnownVoter reports whether the record has a voter of that name, or a foreign one of that ID.
func isKnownVoter(s State, name string) bool {
	return slices.Contains(s.KnownVoters, name) ||
		slices.ContainsFunc(s.ForeignMembers, func(m ForeignMember) bool { return !m.Learner && m.ID.String() == name })
}

// fewestVoters is the smallest number of voters that the old cluster may have: one of the record may not vote.
func fewestVoters(s State) int {
	if s.Dispute != nil {
		sources := bySource(s)
		return min(fewestVoters(sources[0]), fewestVoters(sources[1]))
	}
	voters := OldVoters(s)
	if _, doubted := doubtedVoter(s); doubted && !s.MembershipKnown {
		voters--
	}
	return voters
}

// MayVote reports whether a member is a voter of the record, or there is no record.
func MayVote(s State, m Member) bool {
	return KnownVoters(s) == 0 || slices.Contains(s.KnownVoters, m.Name)
}

const (
	// shortestElection is how long members that answer may take to find a leader, at least; with etcd's defaults an election
	// takes a second or two.
	shortestElection = 15 * time.Second
	// StartGrace is how long a Pod may take until its member serves: it pulls an image and reads its data before.
	StartGrace = 5 * time.Minute
)

// ElectionGrace is how long members that answer may take to find a leader. An election takes up to twice the election timeout.
func ElectionGrace(s State) time.Duration {
	var timeout time.Duration
	for _, e := range s.PodPolicy().EtcdEnv {
		if ms, err := strconv.ParseInt(e.Value, 10, 32); e.Name == "ETCD_ELECTION_TIMEOUT" && err == nil {
			timeout = time.Duration(ms) * time.Millisecond
		}
	}
	if s.Spec.Etcd != nil && s.Spec.Etcd.ElectionTimeout != nil {
		timeout = s.Spec.Etcd.ElectionTimeout.Duration
	}
	return max(shortestElection, 3*timeout)
}

// Surplus is by how many members the membership exceeds the spec.
func (s State) Surplus() int { return len(s.Membership()) - max(s.Spec.Size, 1) }

// OldVoters returns how many voters that cluster has, and 0 if that is not known.
func OldVoters(s State) int {
	if s.MembershipKnown {
		return s.Voters().Total
	}
	return KnownVoters(s)
}

// ForeignLearners counts foreign members without a vote. Somebody may have promoted them since a quorum last answered.
func ForeignLearners(s State) int { return len(s.ForeignMembers) - ForeignVoters(s) }

// UnseenVoters are the foreign members that may vote and hold data, and that the user did not consent to go on without. A grace period
// is no such consent: while no quorum answers the operator, foreign voters that it cannot reach may serve clients. If they may be a
// quorum by themselves, the consent to remove them is none either. Only the statement is that they have stopped. A learner counts if it
// would complete a quorum of the members with data.
func UnseenVoters(s State) []ForeignMember {
	serving := MaybeServing(s)
	if MayBeQuorum(s, serving, 0) {
		return serving
	}
	completes := MayBeQuorum(s, serving, len(Holders(s)))
	return slices.DeleteFunc(serving, func(m ForeignMember) bool { return m.Learner && !completes || removalAsked(s, m) })
}

// Labels is how people find foreign members with etcdctl.
func Labels(foreign []ForeignMember) string {
	words := make([]string, len(foreign))
	for i, m := range foreign {
		words[i] = m.Label()
	}
	return strings.Join(words, ", ")
}

// SayStopped says how a person states that the foreign members have stopped. It names all, because the annotation replaces an earlier one.
func SayStopped(s State) string {
	ids := make([]string, len(s.ForeignMembers))
	for i, m := range s.ForeignMembers {
		ids[i] = m.ID.String()
	}
	return "Stop them for good. Then annotate the EtcdCluster with " + v1beta2.AnnotationStoppedForeign + "=" + strings.Join(ids, ",") + "."
}

// Holders returns the voters of the record that have their data.
func Holders(s State) []Member {
	return s.Where(func(m Member) bool {
		return m.Incarnation == s.Incarnation && s.HoldsData(m) && MayVote(s, m)
	})
}

// UnreadyFor says whether a member's Pod has been there and not ready for longer than grace. A member that still reads its
// database may take its startup budget, too.
func UnreadyFor(s State, m Member, grace time.Duration) bool {
	return m.Pod != PodNone && !m.UnreadySince.IsZero() && s.Now.Sub(m.UnreadySince) > grace+m.StartupBudget
}

// Leader returns the member of the current incarnation that reports to be the leader.
func (s State) Leader() (Member, bool) {
	for _, m := range s.Membership() {
		if m.Leader {
			return m, true
		}
	}
	return Member{}, false
}
