package plan

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Ahead returns the name of the EtcdRestore that the cluster works on, or will start, before mine. It returns an empty
// name if mine is next.
func Ahead(all []v1beta2.EtcdRestore, cluster *v1beta2.EtcdCluster, mine *v1beta2.EtcdRestore) string {
	if busy := cluster.Status.Restore; busy != nil && busy.UID != mine.UID && inProgress(busy.Step) {
		return busy.Name
	}
	var queue []v1beta2.EtcdRestore
	for _, other := range all {
		if other.Spec.EtcdCluster.Name == cluster.Name && other.MayBegin() || other.UID == mine.UID {
			queue = append(queue, other)
		}
	}
	slices.SortFunc(queue, v1beta2.CompareRestores)
	if len(queue) > 0 && queue[0].UID != mine.UID {
		return queue[0].Name
	}
	return ""
}

func inProgress(step v1beta2.RestoreStep) bool {
	return step == v1beta2.RestoreSeeding || step == v1beta2.RestoreSwitching || step == v1beta2.RestoreGrowing
}
