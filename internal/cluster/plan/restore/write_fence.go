package restore

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// WritesFenced reports whether the restore under way has fenced the old members. A quorum has accepted the fence in this attempt, as the status records,
// and a member reports it. An alarm alone proves nothing: a member that its peers do not reach reports a fence of an earlier attempt that the
// others have taken back.
func WritesFenced(s state.State) bool { return FenceIsOn(s) && s.Restore.LastRevision > 0 }

// FenceIsOn reports whether a member reports the fence of the restore under way.
func FenceIsOn(s state.State) bool {
	return s.Switching() && slices.Contains(state.Fences(s), etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: state.RestoreFence(s)})
}

// fenceOld fences the old members. It returns nil if they are fenced, or cannot be.
func fenceOld(s state.State) steps.Step {
	if WritesFenced(s) || !state.MayFence(s) || s.Incarnation == s.Restore.Incarnation {
		return nil
	}
	return steps.FenceWrites{ID: state.RestoreFence(s)}
}

// cannotHandOver waits for a person if the operator can neither fence the old members nor stop a quorum of them.
func cannotHandOver(s state.State) steps.Step {
	if state.MayFence(s) || WritesFenced(s) {
		return nil
	}
	return Unstoppable(s)
}

// TakeFenceBack takes back each fence that neither a restore nor the spec asks for, but for that of a switchover, which backup-operator takes back. If
// there are foreign members, another EtcdCluster may have set it for its own restore. Then only the fences of this EtcdCluster and of its restores
// are taken back.
func TakeFenceBack(s state.State) steps.Step {
	if !s.MembershipKnown {
		return nil
	}
	for _, fence := range state.Fences(s) {
		asked := state.IsSwitchover(s, fence) || s.Switching() && fence.Member == state.RestoreFence(s) ||
			s.Spec.ReadOnly && !state.TooOld(s) && fence.Member == state.ReadOnlyFence(s)
		if !asked && (len(s.ForeignMembers) == 0 || ownFence(s, fence.Member)) {
			return steps.UnfenceWrites{ID: fence.Member}
		}
	}
	return nil
}

// ownFence reports whether a fence is that of the EtcdCluster, of a restore that its status has, or of an EtcdRestore that is there. The status may be
// lost behind the fence.
func ownFence(s state.State, id etcd.ID) bool {
	return id == state.ReadOnlyFence(s) || s.Restore != nil && id == state.RestoreFence(s) ||
		slices.ContainsFunc(s.Restores, func(uid types.UID) bool { return id == etcd.FenceID(uid) }) ||
		slices.ContainsFunc(s.PastRestores, func(r v1beta2.PastRestore) bool { return id == etcd.FenceID(r.UID) })
}
