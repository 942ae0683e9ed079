package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Inherit marks an EtcdRestore as complete that an earlier operator carried out.
type Inherit struct{}

func (Inherit) describe(s State) planning.Description {
	return s.announced(corev1.EventTypeNormal, planning.Description{
		Reason: v1beta2.ReasonComplete,
		Message: fmt.Sprintf("Another operator has carried out this EtcdRestore before: status.succeeded is true. EtcdCluster %s was not changed. To restore the snapshot, create an EtcdRestore with another name.",
			s.Restore.Spec.EtcdCluster.Name),
	})
}

// anotherOperatorFinished: coreos/etcd-operator wrote no conditions, only whether a restore succeeded, or why it did not.
func anotherOperatorFinished(s State) Step {
	status := s.Restore.Status
	switch {
	case len(status.Conditions) > 0:
		return nil
	case status.Succeeded:
		return Inherit{}
	case status.Reason != "":
		return Fail{Reason: v1beta2.ReasonRestoreRefused, Message: fmt.Sprintf(
			"Another operator has tried this EtcdRestore before, without success: %s EtcdCluster %s was not changed. To restore the snapshot, create an EtcdRestore with another name.",
			planning.Sentence("", status.Reason), s.Restore.Spec.EtcdCluster.Name)}
	}
	return nil
}

// clusterRefuses fails a restore that the cluster carried out before, or that was written for another cluster ID. It is
// asked again until the cluster has begun the restore, because the cluster may change meanwhile.
func clusterRefuses(s State) Step {
	if s.Cluster == nil || s.progress() != nil {
		return nil
	}
	why := v1beta2.RefuseRestore(s.Cluster.Status.ClusterID, s.Cluster.Status.PastRestores, &s.Restore)
	if why == "" {
		return nil
	}
	return Fail{Reason: v1beta2.ReasonRestoreRefused, Message: why}
}
