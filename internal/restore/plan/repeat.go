package plan

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

// anotherOperatorFinished: coreos/etcd-operator wrote no conditions, only whether a restore succeeded, or why it did not.
func anotherOperatorFinished(s state.State) steps.Step {
	status := s.Restore.Status
	switch {
	case len(status.Conditions) > 0:
		return nil
	case status.Succeeded:
		return steps.Inherit{}
	case status.Reason != "":
		return steps.Fail{Reason: v1beta2.ReasonRestoreRefused, Message: fmt.Sprintf(
			"Another operator has tried this EtcdRestore before, without success: %s EtcdCluster %s was not changed. To restore the snapshot, create an EtcdRestore with another name.",
			planning.Sentence("", status.Reason), s.Restore.Spec.EtcdCluster.Name)}
	}
	return nil
}

// clusterRefuses fails a restore that the cluster carried out before, or that was written for another cluster ID. It is
// asked again until the cluster has begun the restore, because the cluster may change meanwhile.
func clusterRefuses(s state.State) steps.Step {
	if s.Cluster == nil || s.Progress() != nil {
		return nil
	}
	why := v1beta2.RefuseRestore(s.Cluster.Status.ClusterID, s.Cluster.Status.PastRestores, &s.Restore)
	if why == "" {
		return nil
	}
	return steps.Fail{Reason: v1beta2.ReasonRestoreRefused, Message: why}
}
