package state

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Progress returns what the cluster reports about this restore, and nil if it has not started it.
func (s State) Progress() *v1beta2.ClusterRestoreStatus {
	if s.OfPrefixes() {
		return s.KeysProgress()
	}
	if s.Cluster == nil || s.Cluster.Status.Restore == nil || s.Cluster.Status.Restore.UID != s.Restore.UID {
		return nil
	}
	return s.Cluster.Status.Restore
}
