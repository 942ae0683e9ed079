package plan

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

func restoreIsBeingDeleted(s state.State) steps.Step {
	if s.Restore.DeletionTimestamp.IsZero() {
		return nil
	}
	return steps.Done{}
}

func restoreHasFinished(s state.State) steps.Step {
	if !s.Finished() {
		return nil
	}
	ttl := s.Restore.Spec.TTLSecondsAfterFinished
	if ttl == nil || !expires(s) {
		return steps.Done{}
	}
	if s.ClocksDiffer { // nobody knows whether the time is over
		return steps.Done{Requeue: clockPause}
	}
	left := s.Restore.Status.CompletionTime.Add(time.Duration(*ttl) * time.Second).Sub(s.Now)
	if left > 0 {
		return steps.Done{Requeue: left}
	}
	return steps.Expire{}
}

// expires returns whether the restore may be deleted. One that failed is kept: if GitOps created it again, it would replace
// the data of the cluster days later. A cluster that was never formed would start empty without it.
func expires(s state.State) bool { return s.Restore.Status.Succeeded || s.Restore.Spec.DryRun }

// clockPause is when the operator compares the clocks again.
const clockPause = time.Minute
