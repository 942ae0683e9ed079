package steps

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
)

type (
	// SaveOldData starts to save the old cluster, or lets the attempt continue if Start is false.
	SaveOldData struct {
		Start   bool
		Cluster v1beta2.ClusterRestoreStatus
		Failure string
		Requeue time.Duration
	}
	// RecordSafety stores what became of the safety snapshot. Then cluster-operator continues.
	RecordSafety struct {
		Cluster  v1beta2.ClusterRestoreStatus
		Snapshot v1beta2.SafetySnapshotStatus
	}
)

func (step SaveOldData) Describe(s state.State) planning.Description {
	d := planning.Description{Reason: string(step.Cluster.Step), Message: step.Cluster.Message, Requeue: step.Requeue}
	if step.Failure != "" {
		d.Message = planning.Sentence("The safety snapshot could not be taken: ", step.Failure) + " The operator tries again. The cluster is not changed."
	}
	return announced(s, corev1.EventTypeNormal, d)
}

func (step RecordSafety) Describe(s state.State) planning.Description {
	d := planning.Description{Reason: string(step.Cluster.Step), Message: "The present data is saved as " + step.Snapshot.Path + "."}
	kind, reason := corev1.EventTypeNormal, "SafetySnapshotTaken"
	if step.Snapshot.Result != v1beta2.SafetySnapshotTaken {
		kind, reason = corev1.EventTypeWarning, "SafetySnapshotNotTaken"
		d.Message = planning.Sentence("The restore continues without a safety snapshot: ", step.Snapshot.Message)
		if s.Restore.Spec.SafetySnapshotPolicy().Requires() {
			d.Message = planning.Sentence("The restore fails, because the safety snapshot could not be taken: ", step.Snapshot.Message)
		}
	}
	d.Events = []planning.Event{{Type: kind, Reason: reason, Action: actionRestore, Note: planning.Shorten(d.Message, planning.MaxNote)}}
	return d
}
