package repair

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// RequeueUnclear is the interval of comparisons while it is unclear which member is corrupt: each one reads all data.
const RequeueUnclear = 30 * time.Second

// CorruptAlarm replaces the member that has other data than a quorum, if etcd's alarm names the same member. Then it disarms
// the alarm, with which etcd refuses all requests. If it is unclear which member is corrupt, it changes nothing.
func CorruptAlarm(s state.State) steps.Step {
	alarms := state.Alarms(s, etcd.AlarmCorrupt)
	if len(alarms) == 0 || !s.MembershipKnown {
		return nil
	}
	agreed, odd := compareHashes(s)
	for _, alarm := range alarms {
		if agreed && len(odd) == 0 && isUnfounded(s, alarm) {
			return steps.DisarmAlarm{Alarm: alarm, Reason: v1beta2.ReasonDataCorrupt}
		}
	}
	if agreed {
		for _, m := range OwnVoters(s) {
			if isCorrupt(s, m, odd, alarms) {
				return replaceCorrupt(s, m)
			}
		}
	}
	return unclearCorruption(s, agreed, odd)
}

// isUnfounded says whether no member can be the cause of an alarm. That is so if the named member was removed. It is also
// so if the alarm names no member, because etcd compared without a quorum, and all voters now report the same data.
// An ID that never was a member's is a fence of somebody, who knows when writes may go on.
func isUnfounded(s state.State, alarm etcd.Alarm) bool {
	if alarm.Member != 0 {
		return !isMember(s, alarm.Member) && slices.Contains(s.Accused, alarm.Member)
	}
	return !slices.ContainsFunc(OwnVoters(s), func(m state.Member) bool { return m.Hash == "" })
}

// isCorrupt says whether a voter is the corrupt one, if a quorum of the others has the same data. Either it has other data
// and an alarm names it or no member, or its etcd exits because its data is corrupt.
func isCorrupt(s state.State, m state.Member, odd []state.Member, alarms []etcd.Alarm) bool {
	if m.Corrupt && m.Hash == "" {
		return len(odd) == 0
	}
	if !slices.ContainsFunc(odd, func(other state.Member) bool { return other.ID == m.ID }) {
		return false
	}
	about := func(id etcd.ID) bool { return slices.Contains(alarms, etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: id}) }
	named := slices.ContainsFunc(alarms, func(alarm etcd.Alarm) bool { return alarm.Member != 0 && isMember(s, alarm.Member) })
	return about(m.ID) || (about(0) && !named)
}

// replaceCorrupt removes a member whose data is not that of a quorum; a new one takes its place.
func replaceCorrupt(s state.State, m state.Member) steps.Step {
	if learner, ok := s.Learner(); ok {
		if learner.Pod == state.PodBlocked {
			return steps.RemoveMember{ID: learner.ID, Name: learner.Name, Cause: state.MakesWay}
		}
		return nil // it gets its vote first
	}
	if wait := waits.WaitForForeignLearner(s); wait != nil {
		return wait
	}
	if !s.Voters().KeepsQuorumWithout(m.Serving) {
		return steps.Wait{
			Reason: v1beta2.ReasonDataCorrupt, Stalled: true, Requeue: RequeueUnclear,
			Message: "The data of member " + m.Name + " is corrupt, and etcd refuses requests. Removing the member would leave no quorum, so the operator waits. " +
				"Recover the members that are down.",
		}
	}
	if m.Leader {
		if step := waits.MoveLeader(s, m); step != nil {
			return step
		}
	}
	return steps.RemoveMember{ID: m.ID, Name: m.Name, Cause: state.CorruptData}
}

// AccusedMembers are those that an alarm names which is on, and that are or were members. Only while they are members can that be observed. While
// no member answers, the record stays.
func AccusedMembers(s state.State) []string {
	var ids []string
	if !state.Answered(s) {
		for _, id := range s.Accused {
			ids = append(ids, id.String())
		}
		return ids
	}
	for _, alarm := range state.Alarms(s, etcd.AlarmCorrupt) {
		if alarm.Member != 0 && (isMember(s, alarm.Member) || wasMember(s, alarm.Member) || slices.Contains(s.Accused, alarm.Member)) {
			ids = append(ids, alarm.Member.String())
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// unclearCorruption says what is known of the members' data, and what a person can do.
func unclearCorruption(s state.State, agreed bool, odd []state.Member) steps.Step {
	wait := steps.Wait{Reason: v1beta2.ReasonDataCorrupt, Stalled: true, Requeue: RequeueUnclear}
	const refuses = "A CORRUPT alarm is on, and etcd refuses requests. "
	const ways = " The operator changes nothing. Restore a snapshot with an EtcdRestore. " +
		"If you know which member is wrong, you can delete its PersistentVolumeClaim and its Pod instead. Then disarm the alarm: etcdctl alarm disarm."
	switch stranger := stranger(s); {
	case agreed && len(odd) == 0 && stranger != 0:
		wait.Message = refuses + "It names " + stranger.String() + ", which is no member that the operator knows of, and the voters that answer have the same data. So somebody refuses writes with it, " +
			"and the operator changes nothing. If it is not needed any more, disarm the alarm: etcdctl alarm disarm."
	case agreed && len(odd) == 0:
		wait.Message = refuses + "The voters that answer have the same data. The operator changes nothing. " +
			"If you trust that data, disarm the alarm: etcdctl alarm disarm. Otherwise restore a snapshot with an EtcdRestore."
	case agreed:
		wait.Message = refuses + "Member " + odd[0].Name + " has other data than a quorum, but the alarm names another member." + ways
	default:
		wait.Message = refuses + "No quorum of voters is known to have the same data (" + hashes(s) + ")." + ways
	}
	return wait
}

// stranger is the ID that an alarm names although it was never a member's; 0 if there is none.
func stranger(s state.State) etcd.ID {
	for _, alarm := range state.Alarms(s, etcd.AlarmCorrupt) {
		if alarm.Member != 0 && !isMember(s, alarm.Member) && !wasMember(s, alarm.Member) && !slices.Contains(s.Accused, alarm.Member) {
			return alarm.Member
		}
	}
	return 0
}

// compareHashes says whether a quorum of all voters has the same data, and who is known to have other data.
func compareHashes(s state.State) (agreed bool, odd []state.Member) {
	counts := map[string]int{}
	for _, m := range OwnVoters(s) {
		if m.Hash != "" {
			counts[m.Hash]++
		}
	}
	right := ""
	for hash, n := range counts {
		if n >= etcd.Quorum(s.Voters().Total) {
			right = hash
		}
	}
	if right == "" {
		return false, nil
	}
	for _, m := range OwnVoters(s) {
		if m.Hash != "" && m.Hash != right {
			odd = append(odd, m)
		}
	}
	return true, odd
}

// OwnVoters returns the voters of the current incarnation that the operator knows.
func OwnVoters(s state.State) []state.Member {
	return s.Where(func(m state.Member) bool { return m.Incarnation == s.Incarnation && m.InMembership && !m.Learner })
}

// wasMember returns whether an ID was a member's in the last status.
func wasMember(s state.State, id etcd.ID) bool {
	return slices.Contains(slices.Collect(maps.Values(s.KnownIDs)), id)
}

func isMember(s state.State, id etcd.ID) bool {
	return slices.ContainsFunc(s.Membership(), func(m state.Member) bool { return m.ID == id }) ||
		slices.ContainsFunc(s.ForeignMembers, func(m state.ForeignMember) bool { return m.ID == id })
}

// hashes of the voters, for a person.
func hashes(s state.State) string {
	var told []string
	for _, m := range OwnVoters(s) {
		hash := m.Hash
		if hash == "" {
			hash = "no hash"
		}
		told = append(told, m.Name+": "+hash)
	}
	return strings.Join(told, "; ")
}
