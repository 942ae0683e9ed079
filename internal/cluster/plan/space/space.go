package space

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// When a database file has reached its space quota, etcd raises an alarm and refuses writes. What is free in the file
// counts as used, so room is made in three steps, each seen in what the members say:
//
//	revisions are forgotten ── less is in use ── members are defragmented ── the files are smaller ── the alarm is disarmed
//
// If that does not make room, a message names what a person can do.

// OutOfSpace reports that the space quota is used up, and what a person can do. The operator never deletes keys.
func OutOfSpace(s state.State) steps.Step {
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
	return steps.Wait{Reason: v1beta2.ReasonNoSpace, Message: text + " Reads and deletions still work.", Stalled: true}
}

// QuotaTooSmall reports a quota that is below what is in use of a member's database. etcd refuses the next write, and no
// defragmentation helps.
func QuotaTooSmall(s state.State) steps.Step {
	for _, m := range s.Membership() {
		if quota := state.QuotaOf(s, m); m.Answers && quota > 0 && m.DBSizeInUse > quota {
			return steps.Wait{
				Reason: v1beta2.ReasonNoSpace, Stalled: true,
				Message: fmt.Sprintf("The space quota of member %s is %s, but its database already uses %s. etcd will refuse all writes. Raise %s.",
					m.Name, state.BytesOf(quota), state.BytesOf(m.DBSizeInUse), state.QuotaField(s)),
			}
		}
	}
	return nil
}

// Status is the record of compactions. It is dropped when no alarm is on.
func Status(s state.State) *v1beta2.SpaceStatus {
	if state.Answered(s) && len(state.Alarms(s, etcd.AlarmNoSpace)) == 0 {
		return nil
	}
	return s.Space.DeepCopy()
}

// RecordSpace keeps what was compacted and who was defragmented.
func RecordSpace(status *v1beta2.EtcdClusterStatus, s state.State, step steps.Step) {
	at := ptr.To(metav1.NewTime(s.Now))
	switch step := step.(type) {
	case steps.CompactHistory:
		status.Space = &v1beta2.SpaceStatus{CompactedRevision: step.Revision, CompactedAt: at}
	case steps.DefragmentMember:
		for i := range status.MemberStatuses {
			if status.MemberStatuses[i].Name == step.Name {
				status.MemberStatuses[i].DefragmentedAt = at
			}
		}
	case steps.EndDefragmentation:
		if status.Defragmentation != nil {
			status.Defragmentation.LastScheduleTime = ptr.To(metav1.NewTime(step.Due))
		}
	}
}
