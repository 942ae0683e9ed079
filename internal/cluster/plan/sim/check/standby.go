package check

import "github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"

// checkPromotion: a standby becomes a cluster only if a person has asked for that. Until then, the source serves.
func checkPromotion(w *world.World, name string) {
	p := w.Pod(name)
	if p == nil {
		return
	}
	if r := w.RestoreOf(p); r == nil || !r.Promote {
		w.Violate(world.OneIdentityOneHistory, "%s is promoted, and no person has asked for that", name)
	}
}

// checkStandby: a standby may be the last copy of the data. So its volume is deleted only if a person has deleted its EtcdRestore, or after another incarnation was
// restored.
func checkStandby(w *world.World, name string) {
	v, status := w.Volume(name), w.Cluster.Status.Restore
	if v == nil || status == nil || status.Follow == nil || v.Incarnation != status.Incarnation || w.Formed() != nil {
		return
	}
	for _, r := range w.Restores {
		if r.UID == status.UID && !r.Deleted {
			w.Violate(world.DataIsKept, "the volume %s of a standby is deleted", name)
		}
	}
}
