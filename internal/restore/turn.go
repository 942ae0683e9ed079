package restore

import (
	"cmp"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// first names the restore that a cluster works on or takes up before mine; empty where mine is the one.
func first(all []v1beta2.EtcdRestore, cluster *v1beta2.EtcdCluster, mine *v1beta2.EtcdRestore) string {
	if busy := cluster.Status.Restore; busy != nil && busy.UID != mine.UID && underWay(busy.Step) {
		return busy.Name
	}
	var others []v1beta2.EtcdRestore
	for _, other := range all {
		// cluster-operator takes up what is verified only: one that is not yet holds nobody up.
		waits := other.Spec.EtcdCluster.Name == cluster.Name && other.Status.CompletionTime == nil &&
			other.DeletionTimestamp.IsZero() && other.Status.Snapshot != nil && other.Status.Source != nil
		if waits || other.UID == mine.UID {
			others = append(others, other)
		}
	}
	slices.SortFunc(others, func(a, b v1beta2.EtcdRestore) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	if len(others) > 0 && others[0].UID != mine.UID {
		return others[0].Name
	}
	return ""
}

func underWay(step v1beta2.RestoreStep) bool {
	return step == v1beta2.RestoreSeeding || step == v1beta2.RestoreSwitching || step == v1beta2.RestoreGrowing
}
