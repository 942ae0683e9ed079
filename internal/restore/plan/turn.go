package plan

import (
	"cmp"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Ahead returns the name of the EtcdRestore that the cluster works on, or will start, before mine. It returns an empty
// name if mine is next. cluster-operator uses the same order.
func Ahead(all []v1beta2.EtcdRestore, cluster *v1beta2.EtcdCluster, mine *v1beta2.EtcdRestore) string {
	if busy := cluster.Status.Restore; busy != nil && busy.UID != mine.UID && inProgress(busy.Step) {
		return busy.Name
	}
	var queue []v1beta2.EtcdRestore
	for _, other := range all {
		// cluster-operator starts verified restores only, so a restore that is not verified delays no other.
		waits := other.Spec.EtcdCluster.Name == cluster.Name && other.Status.CompletionTime == nil &&
			other.DeletionTimestamp.IsZero() && other.Status.Snapshot != nil && other.Status.HasSource()
		if waits || other.UID == mine.UID {
			queue = append(queue, other)
		}
	}
	slices.SortFunc(queue, func(a, b v1beta2.EtcdRestore) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	if len(queue) > 0 && queue[0].UID != mine.UID {
		return queue[0].Name
	}
	return ""
}

func inProgress(step v1beta2.RestoreStep) bool {
	return step == v1beta2.RestoreSeeding || step == v1beta2.RestoreSwitching || step == v1beta2.RestoreGrowing
}
