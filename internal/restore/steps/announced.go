package steps

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
)

// actionRestore is the action of all events of an EtcdRestore.
const actionRestore = "Restore"

// announced adds an event of that type to the description if the step changes the reason of the Ready condition. A
// change of the message alone causes no event.
func announced(s state.State, kind string, d planning.Description) planning.Description {
	if ready := s.Ready(); ready != nil && ready.Reason == d.Reason {
		return d
	}
	d.Events = []planning.Event{{
		Type: kind, Reason: d.Reason, Action: actionRestore, Note: planning.Shorten(d.Message, planning.MaxNote),
	}}
	return d
}

// asReported describes a step that leaves the Ready condition as it is.
func asReported(s state.State) planning.Description {
	if ready := s.Ready(); ready != nil {
		return planning.Description{Reason: ready.Reason, Message: ready.Message}
	}
	return planning.Description{Reason: v1beta2.ReasonPending}
}

// ProgressInterval is how often the status shows the progress of a reading.
const ProgressInterval = 2 * time.Second

// queuedForReading is the message while the operator reads the snapshots of other EtcdRestores.
const queuedForReading = "The snapshot is not read yet, because the operator reads the snapshots of other EtcdRestores: %s. The cluster is not changed."

// reading describes one attempt to read the source. A retry keeps the reason and the message of the failed attempt
// until it has ended, because they are the latest result.
func reading(s state.State, attempt int32) planning.Description {
	d := planning.Description{
		Reason:  v1beta2.ReasonVerifying,
		Message: "The operator is reading and verifying the snapshot. It does not change the cluster.",
	}
	if s.Retries(attempt) {
		d = asReported(s)
	}
	d.Requeue = ProgressInterval
	return announced(s, corev1.EventTypeNormal, d)
}
