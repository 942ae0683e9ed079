package fault

import (
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// loseStatus loses what the operator wrote. The client Service remembers the cluster's ID; losing both at once is
// more than one fault, and so is losing it between two lives that have no volumes, or before the cluster has formed.
func loseStatus(w *world.World, _ *rand.Rand) string {
	if w.Services.ClientClusterID != w.Cluster.Status.ClusterID || w.Formed() == nil || betweenLives(w) || copiedVolume(w) {
		return ""
	}
	w.Cluster.Status = v1beta2.EtcdClusterStatus{ObservedGeneration: -1}
	w.StatusLost = true
	return "lose the status"
}

// betweenLives says whether a restore is recorded, and the members that it replaces have no volumes, or lost the quorum that
// they had without them.
func betweenLives(w *world.World) bool {
	restore := w.Cluster.Status.Restore
	switch {
	case restore == nil:
		return false
	case !w.Durable():
		return true
	}
	return w.Moving && restore.Step == v1beta2.RestoreSwitching && !safeQuorum(w, w.Formed())
}

func loseServices(w *world.World, _ *rand.Rand) string {
	if w.Cluster.Status.ClusterID != w.Services.ClientClusterID {
		return ""
	}
	w.Services = state.Services{}
	return "lose the Services"
}

// backUpStatus saves the status with an API backup.
func backUpStatus(w *world.World, _ *rand.Rand) string {
	w.Backup = w.Cluster.Status.DeepCopy()
	return "back up the status"
}

// bringBackStatus brings back the record of the members and of a recovery as it was, if nothing else of the status has changed since.
func bringBackStatus(w *world.World, _ *rand.Rand) string {
	now, was := &w.Cluster.Status, w.Backup
	if was == nil || now.ClusterID == "" || was.ClusterID != now.ClusterID || was.Incarnation != now.Incarnation ||
		!equality.Semantic.DeepEqual(was.Restore, now.Restore) {
		return ""
	}
	now.MemberStatuses, now.ForeignMembers = was.DeepCopy().MemberStatuses, was.DeepCopy().ForeignMembers
	now.Recovery = was.Recovery.DeepCopy()
	now.PromotingMember, now.RemovingMember = was.PromotingMember, was.RemovingMember
	return "bring back an old record of the members"
}

// LoseRecord loses what the status records of the members.
func LoseRecord(w *world.World) {
	w.Cluster.Status.MemberStatuses, w.Cluster.Status.ForeignMembers = nil, nil
}

// Consented is a world in which a survivor was chosen by the user's leave.
func Consented(w *world.World) {
	for i := range w.Incarnations {
		w.Incarnations[i].Consented = true
	}
}
