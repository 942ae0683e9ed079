package waits

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// FenceSeed fences a seed that is about to be the cluster, so that a read-only cluster accepts no write after a restore. It returns nil if the
// seed is fenced, or if that is not asked for or does not hold.
func FenceSeed(s state.State) steps.Step {
	seed, _ := state.SeedMember(s)
	if !s.Spec.ReadOnly || etcdversion.Older(seed.Version, state.FencesFrom) || slices.Contains(seed.Alarms, state.ReadOnlyAlarm(s)) {
		return nil
	}
	return steps.FenceWrites{ID: state.ReadOnlyFence(s), Seed: seed.Name}
}

// ReportUnreadableRestore reports a verified restore that the cluster does not take up.
func ReportUnreadableRestore(s state.State) steps.Step {
	if s.Request == nil || s.Requested() || s.Restoring() {
		return nil
	}
	if why := state.CannotRead(s, *s.Request); why != "" {
		return steps.Wait{Reason: v1beta2.ReasonSnapshotTooNew, Stalled: true, Message: why}
	}
	return nil
}
