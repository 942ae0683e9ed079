package plan

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// setVolumeRead says what a seed has read from a volume.
func setVolumeRead(status *v1beta2.ClusterRestoreStatus, s state.State) {
	if status == nil {
		return
	}
	if status.Volume == nil && s.Requested() { // the status was lost, or an earlier version has begun
		status.Volume = restore.VolumeOf(s.Request)
	}
	seed, ok := state.SeedOf(s, status.Incarnation)
	if status.Volume == nil || status.Volume.Read != nil || !ok || seed.Seed == nil {
		return
	}
	status.Volume.Read = seed.Seed.Read.DeepCopy()
}
