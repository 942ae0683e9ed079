package waits

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// DefragmentNext defragments one of the members that need it, the leader last and not before it handed over.
func DefragmentNext(s state.State, why string, needs func(state.Member) bool) steps.Step {
	var leader *state.Member
	if len(s.ForeignMembers) > 0 {
		return nil // they may be down
	}
	for _, m := range s.Membership() {
		switch {
		case !needs(m):
		case m.Leader:
			leader = &m
		default:
			return steps.DefragmentMember{Name: m.Name, Reason: why}
		}
	}
	if leader == nil {
		return nil
	}
	if step := MoveLeader(s, *leader); step != nil {
		return step
	}
	return steps.DefragmentMember{Name: leader.Name, Reason: why}
}

// ReclaimSpace makes room if the space quota is used up, as far as the spec allows. If it cannot, it returns nil. When this
// rule is asked, all members are healthy.
func ReclaimSpace(s state.State) steps.Step {
	alarms := state.Alarms(s, etcd.AlarmNoSpace)
	if s.ReadOnly() { // etcd compacts nothing, and nothing is written
		return nil
	}
	if len(alarms) == 0 || !s.MembershipKnown || len(s.ForeignMembers) > 0 || s.Spec.NoSpaceAction() == v1beta2.NoSpaceWait {
		return nil
	}
	if !slices.ContainsFunc(s.Membership(), func(m state.Member) bool { return !state.Fits(s, m, m.DBSize, state.RoomInFile) }) {
		return steps.DisarmAlarm{Alarm: alarms[0], Reason: v1beta2.ReasonNoSpace}
	}
	if state.CompactedFor(s, state.RaiseGrace) && !s.Space.CompactedAt.After(s.Now) && !state.Untried(s) && state.QuotaIsRaised(s) {
		return nil // the restart with the new quota makes room
	}
	if revision, due := state.Compaction(s); due {
		return steps.CompactHistory{Revision: revision}
	}
	crowded := state.Crowded(s)
	if state.CompactedFor(s, state.CompactBegin) || (crowded && state.CompactedFor(s, state.CompactGrace)) {
		return steps.Wait{Reason: v1beta2.ReasonNoSpace, Message: "The space quota is used up, and etcd refuses writes. The members are freeing the compacted history."}
	}
	if crowded && !state.Untried(s) {
		return nil
	}
	if state.MayReceiveSnapshot(s) {
		return steps.Wait{Reason: v1beta2.ReasonNoSpace, Message: "The space quota is used up, and etcd refuses writes. A member is behind the others. The operator defragments when it has caught up. Otherwise etcd " + state.LowestVersion(s) + " can lose the data of a member that receives a snapshot (etcd-io/etcd#20271)."}
	}
	return DefragmentNext(s, v1beta2.ReasonNoSpace, func(m state.Member) bool { return state.NeedsRoom(s, m) })
}

// QuotaTooLow reports that the spec lowers the quota below what is in use of a member's database. The first member that
// restarts with it would raise the alarm for all.
func QuotaTooLow(s state.State) steps.Step {
	asked := state.AskedQuota(s)
	if asked <= 0 {
		return nil
	}
	for _, m := range s.Membership() {
		if quota := state.QuotaOf(s, m); m.Answers && m.DBSizeInUse > asked && (quota > asked || quota < 0) {
			return steps.Wait{
				Reason: v1beta2.ReasonNoSpace, Stalled: true,
				Message: fmt.Sprintf("The spec asks for a space quota of %s, and %s of the database of member %s are in use. etcd would refuse all writes, so the operator restarts no member. Raise %s, or delete keys.",
					state.BytesOf(asked), state.BytesOf(m.DBSizeInUse), m.Name, state.QuotaField(s)),
			}
		}
	}
	return nil
}
