package plan

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// When a database file has reached its space quota, etcd raises an alarm and refuses writes. What is free in the file
// counts as used, so room is made in three steps, each seen in what the members say:
//
//	revisions are forgotten ── less is in use ── members are defragmented ── the files are smaller ── the alarm is disarmed
//
// If that does not make room, a message names what a person can do.

// reclaimSpace makes room if the space quota is used up, as far as the spec allows. If it cannot, it returns nil. When this
// rule is asked, all members are healthy.
func reclaimSpace(s state.State) Step {
	alarms := state.Alarms(s, etcd.AlarmNoSpace)
	if s.ReadOnly() { // etcd compacts nothing, and nothing is written
		return nil
	}
	if len(alarms) == 0 || !s.MembershipKnown || len(s.ForeignMembers) > 0 || s.Spec.NoSpaceAction() == v1beta2.NoSpaceWait {
		return nil
	}
	if !slices.ContainsFunc(s.Membership(), func(m state.Member) bool { return !state.Fits(s, m, m.DBSize, state.RoomInFile) }) {
		return DisarmAlarm{Alarm: alarms[0], Reason: v1beta2.ReasonNoSpace}
	}
	if state.CompactedFor(s, state.RaiseGrace) && !s.Space.CompactedAt.After(s.Now) && !state.Untried(s) && state.QuotaIsRaised(s) {
		return nil // the restart with the new quota makes room
	}
	if revision, due := state.Compaction(s); due {
		return CompactHistory{Revision: revision}
	}
	crowded := state.Crowded(s)
	if state.CompactedFor(s, state.CompactBegin) || (crowded && state.CompactedFor(s, state.CompactGrace)) {
		return Wait{Reason: v1beta2.ReasonNoSpace, Message: "The space quota is used up, and etcd refuses writes. The members are freeing the compacted history."}
	}
	if crowded && !state.Untried(s) {
		return nil
	}
	if state.MayReceiveSnapshot(s) {
		return Wait{Reason: v1beta2.ReasonNoSpace, Message: "The space quota is used up, and etcd refuses writes. A member is behind the others. The operator defragments when it has caught up. Otherwise etcd " + state.LowestVersion(s) + " can lose the data of a member that receives a snapshot (etcd-io/etcd#20271)."}
	}
	return defragmentNext(s, v1beta2.ReasonNoSpace, func(m state.Member) bool { return state.NeedsRoom(s, m) })
}

// CompactHistory has etcd forget what was before a revision.
type CompactHistory struct{ Revision int64 }

func (step CompactHistory) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonNoSpace,
		Message: fmt.Sprintf("The space quota is used up. The operator is compacting the history before revision %d.", step.Revision),
		Requeue: state.RequeueStarting,
	}, "CompactingHistory", cluster)
}

// DisarmAlarm takes an alarm off.
type DisarmAlarm struct {
	Alarm  etcd.Alarm
	Reason string
}

func (step DisarmAlarm) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  step.Reason,
		Message: "The operator is disarming alarm " + string(step.Alarm.Kind) + ", because its cause is removed.",
		Requeue: state.RequeueSoon,
	}, "DisarmingAlarm", cluster)
}

// outOfSpace reports that the space quota is used up, and what a person can do. The operator never deletes keys.
func outOfSpace(s state.State) Step {
	if len(state.Alarms(s, etcd.AlarmNoSpace)) == 0 || !s.MembershipKnown || s.ReadOnly() {
		return nil
	}
	full := slices.MaxFunc(s.Membership(), func(a, b state.Member) int { return int(a.DBSize - b.DBSize) })
	text := fmt.Sprintf("The space quota is used up, and etcd refuses writes. The database of member %s has %s, of which %s are in use. ",
		full.Name, state.BytesOf(full.DBSize), state.BytesOf(full.DBSizeInUse))
	switch s.Spec.NoSpaceAction() {
	case v1beta2.NoSpaceWait:
		text += "Set spec.noSpace.action to Compact, or raise " + state.QuotaField(s) + ". You can also compact, defragment and disarm the alarm yourself."
	case v1beta2.NoSpaceDefragment:
		text += "Defragmentation alone does not make room. Set spec.noSpace.action to Compact, or raise " + state.QuotaField(s) + "."
	default:
		text += fmt.Sprintf("Compacting all but %d revisions does not make room. Delete keys, or lower spec.noSpace.keepRevisions (0 frees deleted keys at once), or raise %s.",
			s.Spec.KeepRevisions(), state.QuotaField(s))
	}
	return Wait{Reason: v1beta2.ReasonNoSpace, Message: text + " Reads and deletions still work.", Stalled: true}
}

// quotaTooSmall reports a quota that is below what is in use of a member's database. etcd refuses the next write, and no
// defragmentation helps.
func quotaTooSmall(s state.State) Step {
	for _, m := range s.Membership() {
		if quota := state.QuotaOf(s, m); m.Answers && quota > 0 && m.DBSizeInUse > quota {
			return Wait{
				Reason: v1beta2.ReasonNoSpace, Stalled: true,
				Message: fmt.Sprintf("The space quota of member %s is %s, but its database already uses %s. etcd will refuse all writes. Raise %s.",
					m.Name, state.BytesOf(quota), state.BytesOf(m.DBSizeInUse), state.QuotaField(s)),
			}
		}
	}
	return nil
}

// quotaTooLow reports that the spec lowers the quota below what is in use of a member's database. The first member that
// restarts with it would raise the alarm for all.
func quotaTooLow(s state.State) Step {
	asked := state.AskedQuota(s)
	if asked <= 0 {
		return nil
	}
	for _, m := range s.Membership() {
		if quota := state.QuotaOf(s, m); m.Answers && m.DBSizeInUse > asked && (quota > asked || quota < 0) {
			return Wait{
				Reason: v1beta2.ReasonNoSpace, Stalled: true,
				Message: fmt.Sprintf("The spec asks for a space quota of %s, and %s of the database of member %s are in use. etcd would refuse all writes, so the operator restarts no member. Raise %s, or delete keys.",
					state.BytesOf(asked), state.BytesOf(m.DBSizeInUse), m.Name, state.QuotaField(s)),
			}
		}
	}
	return nil
}

// spaceStatus is the record of compactions. It is dropped when no alarm is on.
func spaceStatus(s state.State) *v1beta2.SpaceStatus {
	if state.Answered(s) && len(state.Alarms(s, etcd.AlarmNoSpace)) == 0 {
		return nil
	}
	return s.Space.DeepCopy()
}

// RecordSpace keeps what was compacted and who was defragmented.
func RecordSpace(status *v1beta2.EtcdClusterStatus, s state.State, step Step) {
	at := ptr.To(metav1.NewTime(s.Now))
	switch step := step.(type) {
	case CompactHistory:
		status.Space = &v1beta2.SpaceStatus{CompactedRevision: step.Revision, CompactedAt: at}
	case DefragmentMember:
		for i := range status.MemberStatuses {
			if status.MemberStatuses[i].Name == step.Name {
				status.MemberStatuses[i].DefragmentedAt = at
			}
		}
	case EndDefragmentation:
		if status.Defragmentation != nil {
			status.Defragmentation.LastScheduleTime = ptr.To(metav1.NewTime(step.Due))
		}
	}
}
