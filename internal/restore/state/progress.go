package state

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// ProgressInterval is how often the status shows the progress of a reading.
const ProgressInterval = 2 * time.Second

// QueuedForReading is the message while the operator reads the snapshots of other EtcdRestores.
const QueuedForReading = "The snapshot is not read yet, because the operator reads the snapshots of other EtcdRestores: %s. The cluster is not changed."

// Reading describes one attempt to read the source. A retry keeps the reason and the message of the failed attempt
// until it has ended, because they are the latest result.
func (s State) Reading(attempt int32) planning.Description {
	d := planning.Description{
		Reason:  v1beta2.ReasonVerifying,
		Message: "The operator is reading and verifying the snapshot. It does not change the cluster.",
		Requeue: ProgressInterval,
	}
	if s.Retries(attempt) {
		d.Reason, d.Message = s.ReadyReason(), s.ReadyMessage()
	}
	return s.Announced(corev1.EventTypeNormal, d)
}

// Retries returns whether the attempt follows a failed one that the status reports.
func (s State) Retries(attempt int32) bool {
	return attempt > 1 && s.ready() != nil && s.Restore.Status.Reason != ""
}
