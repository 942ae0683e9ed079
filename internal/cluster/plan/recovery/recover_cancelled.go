package recovery

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// A recovery can be cancelled after its survivor may have started with --force-new-cluster, for example because the volume of the survivor is lost.
// If that volume comes back, its data may be a cluster of its own, with the same ID as the cluster of the others. So the status keeps which members these
// are, until they serve. A person can accept their claims.

// NoteSurvivor keeps the survivor of a recovery that is cancelled. One that serves, or knows other members, was never restarted alone.
func NoteSurvivor(status *v1beta2.EtcdClusterStatus, s state.State) {
	r := status.Recovery
	survivor, _ := state.Find(s, r.Member)
	if r.StartedAt == nil || state.ServesIn(s, survivor) || knowsOthers(s, survivor) {
		return
	}
	id, known := state.ServedOn(s, survivor)
	if !known {
		id = survivor.VolumeID
	}
	all := append(slices.Clone(status.CancelledSurvivors), v1beta2.CancelledSurvivor{Member: r.Member, VolumeName: id.Volume, StartedAt: metav1.NewTime(r.StartedAt.Time)})
	status.CancelledSurvivors = all[max(0, len(all)-v1beta2.MaxCancelledSurvivors):]
}

// ForgetSurvivors forgets those that serve.
func ForgetSurvivors(status *v1beta2.EtcdClusterStatus, s state.State) {
	status.CancelledSurvivors = slices.DeleteFunc(slices.Clone(status.CancelledSurvivors), func(c v1beta2.CancelledSurvivor) bool {
		m, _ := state.Find(s, c.Member)
		return state.ServesIn(s, m)
	})
}
