package plan

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/planning"
)

type (
	// Done does nothing more. Requeue is how long it is until the restore is to be deleted, and 0 for never.
	Done struct{ Requeue time.Duration }
	// Expire deletes a finished restore whose time to live is over.
	Expire struct{}
)

func (d Done) describe(s State) planning.Description {
	return planning.Description{Reason: s.readyReason(), Message: s.readyMessage(), Requeue: d.Requeue}
}

func (Expire) describe(s State) planning.Description {
	return planning.Description{Reason: s.readyReason(), Message: s.readyMessage()}
}

func restoreIsBeingDeleted(s State) Step {
	if s.Restore.DeletionTimestamp.IsZero() {
		return nil
	}
	return Done{}
}

func restoreHasFinished(s State) Step {
	if !s.Finished() {
		return nil
	}
	ttl := s.Restore.Spec.TTLSecondsAfterFinished
	if ttl == nil || !s.expires() {
		return Done{}
	}
	if s.ClocksDiffer { // nobody knows whether the time is over
		return Done{Requeue: clockPause}
	}
	left := s.Restore.Status.CompletionTime.Add(time.Duration(*ttl) * time.Second).Sub(s.Now)
	if left > 0 {
		return Done{Requeue: left}
	}
	return Expire{}
}

// clockPause is when the operator compares the clocks again.
const clockPause = time.Minute

// expires returns whether the restore may be deleted. One that failed is kept: if GitOps created it again, it would replace
// the data of the cluster days later. A cluster that was never formed would start empty without it.
func (s State) expires() bool { return s.Restore.Status.Succeeded || s.Restore.Spec.DryRun }
