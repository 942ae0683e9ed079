package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// A fence keeps the old members from acknowledging writes while clients are led to a seed. A quorum must answer for that. Then no member has to
// stop before the seed takes over, and it does not matter which members the operator can see or stop:
//
//	 old members   serve ─────────── fenced ───────────────── stop
//	 Service       ──▶ old ────────────────┼──▶ seed
//	 step          │ Switching             │ Growing
//
// The step Switching in the status is the intent. A fence whose restore is not in that step is taken back, so the old members take writes again
// whatever ended the operator in between.

// FenceWrites refuses all writes to the members.
type FenceWrites struct {
	ID etcd.ID
	// Seed is the name of a seed that is fenced before it is the cluster; empty for the members.
	Seed string
}

func (step FenceWrites) describe(s state.State) planning.Description {
	return announced(state.Fencing(s, step.ID, "The operator is refusing all writes of clients, because spec.readOnly is true.",
		"The operator is refusing writes to the old members, so that the seed takes over without losing one."), "FencingWrites", cluster)
}

// UnfenceWrites lets the members take writes again.
type UnfenceWrites struct{ ID etcd.ID }

func (step UnfenceWrites) describe(s state.State) planning.Description {
	bySpec := "The operator lets clients write again, because spec.readOnly is false."
	if s.Spec.ReadOnly {
		bySpec = "The operator lets clients write again, because the refusal of writes does not hold in the etcd of this cluster."
	}
	return announced(state.Fencing(s, step.ID, bySpec, "The operator is taking back fence "+step.ID.String()+", so that the members accept writes again."), "UnfencingWrites", cluster)
}

// WritesFenced reports whether the restore under way has fenced the old members. A quorum has accepted the fence in this attempt, as the status records,
// and a member reports it. An alarm alone proves nothing: a member that its peers do not reach reports a fence of an earlier attempt that the
// others have taken back.
func WritesFenced(s state.State) bool { return fenceIsOn(s) && s.Restore.LastRevision > 0 }

// fenceIsOn reports whether a member reports the fence of the restore under way.
func fenceIsOn(s state.State) bool {
	return s.Switching() && slices.Contains(state.Fences(s), etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: state.RestoreFence(s)})
}

// fenceOld fences the old members. It returns nil if they are fenced, or cannot be.
func fenceOld(s state.State) Step {
	if WritesFenced(s) || !state.MayFence(s) || s.Incarnation == s.Restore.Incarnation {
		return nil
	}
	return FenceWrites{ID: state.RestoreFence(s)}
}

// cannotHandOver waits for a person if the operator can neither fence the old members nor stop a quorum of them.
func cannotHandOver(s state.State) Step {
	if state.MayFence(s) || WritesFenced(s) {
		return nil
	}
	return unstoppable(s)
}

// fencedInVain reports whether the old members refuse writes while the operator waits: for the seed, a Secret or a person, but not for an exact safety snapshot. Nothing was stopped yet, so
// they take writes again, and the restore checks everything once more.
func fencedInVain(s state.State, c choice) bool {
	_, waits := c.step.(Wait)
	return waits && s.MembershipKnown && fenceIsOn(s) && oldQuorumRuns(s) && !waitsForExact(s, c.waits)
}

// takeFenceBack takes back each fence that neither a restore nor the spec asks for. If there are foreign members, another EtcdCluster may have set it
// for its own restore. Then only the fences of this EtcdCluster and of its restores are taken back.
func takeFenceBack(s state.State) Step {
	if !s.MembershipKnown {
		return nil
	}
	for _, fence := range state.Fences(s) {
		asked := s.Switching() && fence.Member == state.RestoreFence(s) || s.Spec.ReadOnly && !state.TooOld(s) && fence.Member == state.ReadOnlyFence(s)
		if !asked && (len(s.ForeignMembers) == 0 || ownFence(s, fence.Member)) {
			return UnfenceWrites{ID: fence.Member}
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
