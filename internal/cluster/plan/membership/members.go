package membership

import (
	"cmp"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// StartMember creates the Pod of a member that should run and has none. A member that has started before restarts
// only with its data.
func StartMember(s state.State) steps.Step {
	if !s.Formed() || s.Switching() {
		return nil
	}
	noVolume := false
	for _, m := range dataFirst(s) {
		start, ok := state.StartOf(s, m)
		switch {
		case m.Pod != state.PodNone || m.Volume == state.VolumeDeleting || !ok:
		case m.Volume == state.VolumeNone && s.Durable() && s.NoStorageClass:
			noVolume = true
		default:
			create := steps.CreateMember{Name: m.Name, Incarnation: m.Incarnation, Start: start}
			if waits.May(s, create) {
				return create
			}
		}
	}
	if noVolume {
		return waits.NoStorageClass()
	}
	return nil
}

// dataFirst returns the current members, those with data first. If the API server refuses the Pod or the volume of a new
// member, the others must be running by then.
func dataFirst(s state.State) []state.Member {
	sorted := slices.Clone(s.Current())
	slices.SortStableFunc(sorted, func(a, b state.Member) int { return cmp.Compare(rank(!s.HoldsData(a)), rank(!s.HoldsData(b))) })
	return sorted
}

// RemoveOrphanPods stops Pods that are in no membership: of removed members, and of incarnations that are over.
func RemoveOrphanPods(s state.State) steps.Step {
	if !s.MembershipKnown {
		return nil
	}
	for _, m := range s.Members {
		over := m.Incarnation <= s.Incarnation && !m.InMembership && !keepsWaiting(s, m)
		if over && m.Pod != state.PodNone && m.Pod != state.PodDeleting {
			cause := "it is no longer a member of the cluster"
			if m.Waits {
				cause = "etcd has not added it, and this Pod is no longer needed: the spec has changed, or its volume is being deleted"
			}
			if remove := (steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonScaling, Message: cause, Briefly: m.Incarnation < s.Incarnation, Leaves: leaves(s, m)}); waits.May(s, remove) {
				return remove
			}
		}
	}
	return nil
}

// leaves is the ID of an old member that leaves its cluster before it stops; 0 if it does not leave. A member that has left ends within milliseconds. One that
// only stops serves for another second, and a write that waits when the others have stopped holds it up for two more: there is no quorum that
// refuses the write. The restored cluster serves already, and the old one is fenced. The leader does not leave, because a cluster has a last member.
func leaves(s state.State, m state.Member) etcd.ID {
	fenced := s.Restore != nil && m.Incarnation < s.Incarnation && m.ClusterID.String() == s.Restore.ClusterIDBefore &&
		slices.Contains(m.Alarms, etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: state.RestoreFence(s)})
	if !fenced || m.Leader || !m.Answers {
		return 0
	}
	return m.ID
}

// WaitForRemovedPods waits for the Pods of removed members, so that a Ready cluster has as many Pods as members. If a node
// does not confirm that a Pod stopped, the operator deletes the Pod by force: the other members no longer count its vote.
func WaitForRemovedPods(s state.State) steps.Step {
	for _, m := range s.Current() {
		if !s.MembershipKnown || m.InMembership || m.Pod != state.PodDeleting || (m.Held && state.Overdue(s, m)) {
			continue
		}
		if state.Overdue(s, m) {
			return steps.ForceDeletePod{Name: m.Name}
		}
		return waits.WaitUntilGone(s, m, v1beta2.ReasonScaling, "Member "+m.Name+" was removed, and its Pod is stopping.")
	}
	return nil
}

// DeleteOldVolumes deletes volumes of removed members and of old incarnations. When this rule is asked, the cluster is
// healthy and has its full size, so the replacements are proven.
func DeleteOldVolumes(s state.State) steps.Step {
	if !s.MembershipKnown || s.Surplus() > 0 || !state.LeadsClients(s) {
		return nil
	}
	for _, m := range s.Members {
		over := m.Incarnation <= s.Incarnation && !m.InMembership
		if over && m.Pod == state.PodNone && (m.Volume == state.VolumePresent || m.Volume == state.VolumeLost) {
			var step steps.Step = steps.DeleteVolume{Name: m.Name, Reason: v1beta2.ReasonScaling}
			if state.SetsAside(s, m) && m.Volume == state.VolumePresent {
				step = steps.SetAsideVolume{Name: m.Name}
			}
			if waits.May(s, step) {
				return step
			}
		}
	}
	return nil
}
