package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

type (
	// Follow reports the progress of the cluster.
	Follow struct{ Cluster v1beta2.ClusterRestoreStatus }
	// Complete ends the restore: the cluster serves the restored data with all of its members.
	Complete struct{ Cluster v1beta2.ClusterRestoreStatus }
)

func (f Follow) describe(s State) planning.Description {
	message := f.Cluster.Message
	if message == "" {
		message = fmt.Sprintf("EtcdCluster %s is at step %s of the restore.", s.Restore.Spec.EtcdCluster.Name, f.Cluster.Step)
	}
	return s.announced(corev1.EventTypeNormal, planning.Description{Reason: string(f.Cluster.Step), Message: message})
}

func (c Complete) describe(s State) planning.Description {
	return s.announced(corev1.EventTypeNormal, planning.Description{
		Reason: v1beta2.ReasonComplete,
		Message: fmt.Sprintf("EtcdCluster %s is restored and has all of its members. Its etcd cluster has the ID %s and revision %d.",
			s.Restore.Spec.EtcdCluster.Name, c.Cluster.ClusterID, c.Cluster.Revision),
	})
}

// clusterReportsThisRestore follows the report of cluster-operator.
func clusterReportsThisRestore(s State) Step {
	progress := s.progress()
	if progress == nil {
		return nil
	}
	switch progress.Step {
	case v1beta2.RestoreComplete:
		return Complete{Cluster: *progress}
	case v1beta2.RestoreFailed:
		message := progress.Message
		if message == "" {
			message = "The seed failed. The cluster was not changed."
		}
		return Fail{Reason: v1beta2.ReasonSeedFailed, Message: message}
	}
	return Follow{Cluster: *progress}
}
