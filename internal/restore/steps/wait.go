package steps

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
)

type (
	// Wait waits for something that the operator does not do itself.
	Wait struct {
		Reason, Message string
		// Failure is true if it waits because something failed.
		Failure bool
		// Requeue is when to look again. 0 leaves it to watches.
		Requeue time.Duration
		// Stalled is true if a person must act.
		Stalled bool
		// Patient is true if it ends without a person, if the user wants it, or if the rule has a limit of its own. All others are Stalled after
		// planning.StalledAfter.
		Patient bool
	}
	// Fail ends the restore without success. The cluster was not changed.
	Fail struct{ Reason, Message string }
)

func (w Wait) Describe(s state.State) planning.Description {
	kind := corev1.EventTypeNormal
	if w.Failure {
		kind = corev1.EventTypeWarning
	}
	requeue := w.Requeue
	if left := planning.NotReadyLeft(s.Restore.Status.Conditions, s.Now); left > 0 && !w.Patient && (requeue == 0 || left < requeue) {
		requeue = left
	}
	return announced(s, kind, planning.Description{Reason: w.Reason, Message: w.Message, Requeue: requeue})
}

func (f Fail) Describe(s state.State) planning.Description {
	return announced(s, corev1.EventTypeWarning, planning.Description{Reason: f.Reason, Message: f.Message})
}
