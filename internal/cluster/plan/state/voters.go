package state

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// DataOf returns where the data of a member is. In doubt the member has data: nothing is deleted or replaced for a doubt.
func DataOf(s State, m Member) Data {
	started := m.Pod == PodRunning || m.Pod == PodDeleting || (m.Pod == PodBlocked && m.Ran)
	placed := m.Pod == PodStarting || (m.Pod == PodBlocked && m.PodReason != v1beta2.ReasonPodUnschedulable)
	switch {
	case m.VolumeUnused && (m.NeverRan() || m.Pod == PodNone), m.NeverRan() && InPod(s, m):
		return NoData
	case InPod(s, m) && m.Pod != PodNone && m.Pod != PodEnded:
		return InPodOnly
	case InPod(s, m):
		return NoData
	case onVolume(s, m):
		return OnVolume
	case started, m.Volume == VolumeDeleting && placed: // its volume is kept as long as it is mounted
		return InPodOnly
	}
	return NoData
}

// HoldsData says whether a member has, or may have, data that it runs on or can start again with.
func (s State) HoldsData(m Member) bool { return DataOf(s, m) != NoData }

// KeepsData says whether the next Pod of a member has its data.
func KeepsData(s State, m Member) bool { return DataOf(s, m) == OnVolume }

// GoesWithPod says whether a member has data that its next Pod would not have.
func GoesWithPod(s State, m Member) bool { return DataOf(s, m) == InPodOnly }

// DataInPods says whether the data of any current member is lost with its Pod, or was and will be.
func DataInPods(s State) bool {
	return !s.Durable() || slices.ContainsFunc(s.Current(), func(m Member) bool { return InPod(s, m) || GoesWithPod(s, m) })
}

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

// ForeignLearners counts foreign members without a vote. Somebody may have promoted them since a quorum last answered.
func ForeignLearners(s State) int { return len(s.ForeignMembers) - ForeignVoters(s) }

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

const (
	// catchUpAtLeast is how long a learner may take to catch up with the leader, however small the database is.
	catchUpAtLeast = 10 * time.Minute
	// catchUpSpeed is how many bytes a second a learner is expected to copy at least.
	catchUpSpeed = int64(4) << 20
)

// CatchUpTime is how long a learner may take to catch up.
func CatchUpTime(s State) time.Duration {
	largest := int64(0)
	for _, m := range s.Membership() {
		largest = max(largest, m.DBSize)
	}
	return max(catchUpAtLeast, time.Duration(largest/catchUpSpeed)*time.Second)
}

const (
	// MaxLearnerFailures is how many learners in a row may fail before a person must act.
	MaxLearnerFailures = 3
	// LearnerPause is how long the operator waits after that many before it adds the next one. It doubles with each.
	LearnerPause = 30 * time.Minute
	// MaxLearnerPause is the longest of these pauses.
	MaxLearnerPause = 8 * time.Hour
)

// StartOf says how a member without a Pod may start. It returns false if the member may not start.
func StartOf(s State, m Member) (Start, bool) {
	held := onVolume(s, m) && (m.InMembership || !m.VolumeUnused)
	switch {
	case besideSurvivor(s, m):
		return "", false
	case !s.MembershipKnown:
		// No quorum answers: only members that hold data start.
		return StartRejoin, held
	case !m.InMembership:
		return "", false
	case m.Started:
		return StartRejoin, held
	default:
		return StartJoin, held || JustAdded(s, m)
	}
}

// JustAdded says whether a member that has not started was added to a formed cluster, and so has never voted. A
// voter that was there from the beginning may have voted before it could say that it started.
func JustAdded(s State, m Member) bool {
	return m.Learner || !SupportsLearners(LowestVersion(s))
}

// Membership is what etcd knows of the current incarnation.
func (s State) Membership() []Member {
	return s.Where(func(m Member) bool { return m.Incarnation == s.Incarnation && m.InMembership })
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

// Learner is the member that has no vote yet. There is at most one that the operator added.
func (s State) Learner() (Member, bool) {
	for _, m := range s.Membership() {
		if m.Learner {
			return m, true
		}
	}
	return Member{}, false
}

// JoinPeers are the names that a member needs to join: those of the whole membership, and its own.
func JoinPeers(s State, member string) []string {
	names := []string{member}
	for _, m := range s.Membership() {
		if m.Name != member {
			names = append(names, m.Name)
		}
	}
	for _, m := range s.ForeignMembers {
		names = append(names, m.peerName())
	}
	slices.Sort(names)
	return names
}

// Applied is the highest index in the raft log that a member has applied.
func Applied(s State) int64 {
	var highest int64
	for _, m := range s.Membership() {
		highest = max(highest, m.AppliedIndex)
	}
	return highest
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

// Holders returns the voters of the record that have their data.
func Holders(s State) []Member {
	return s.Where(func(m Member) bool {
		return m.Incarnation == s.Incarnation && s.HoldsData(m) && MayVote(s, m)
	})
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

// UnreadyFor says whether a member's Pod has been there and not ready for longer than grace. A member that still reads its
// database may take its startup budget, too.
func UnreadyFor(s State, m Member, grace time.Duration) bool {
	return m.Pod != PodNone && !m.UnreadySince.IsZero() && s.Now.Sub(m.UnreadySince) > grace+m.StartupBudget
}

// Surplus is by how many members the membership exceeds the spec.
func (s State) Surplus() int { return len(s.Membership()) - max(s.Spec.Size, 1) }

// MaxOrdinal bounds the search for a member's ordinal: names are reused from 0, so few are ever taken.
const MaxOrdinal = 64

// Ordinal of a member, by its name; members that others named come last.
func Ordinal(s State, m Member) int {
	for ordinal := range MaxOrdinal {
		if MemberName(s.Name, s.UID, m.Incarnation, ordinal) == m.Name {
			return ordinal
		}
	}
	return MaxOrdinal
}

// NeverRan returns whether no etcd has run in a Pod, because it waits until its member is added.
func (m Member) NeverRan() bool { return m.Waits && !m.Ran }

// OldVoters returns how many voters that cluster has, and 0 if that is not known.
func OldVoters(s State) int {
	if s.MembershipKnown {
		return s.Voters().Total
	}
	return KnownVoters(s)
}

// MemberNames returns the names of members.
func MemberNames(members []Member) []string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
	return names
}
