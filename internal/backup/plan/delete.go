package plan

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// oldFinalizerIsSet: no other operator removes this finalizer, so the EtcdBackup could never be deleted.
func oldFinalizerIsSet(s state.State) Step {
	if !s.OldFinalizer {
		return nil
	}
	return RemoveFinalizer{}
}

func backupIsBeingDeleted(s state.State) Step {
	if !s.Deleting {
		return nil
	}
	if state.HandingOver(s) && s.Held && s.Archived() && timeLeft(s, PurgeLimit) > 0 {
		return Wait{Reason: v1beta2.ReasonPending, Message: "The operator calls the switchover off, so that the cluster takes writes again.", Requeue: time.Second, Patient: true}
	}
	if FinalIsDue(s) {
		return takeFinal(s)
	}
	if step := lastCopy(s); step != nil {
		return step
	}
	if s.Copy != nil {
		return CancelCopy{}
	}
	if s.Attempt != nil && s.Attempt.Kind != state.KindPurge {
		return Cancel{}
	}
	if s.CopyBusy && timeLeft(s, PurgeLimit) > 0 {
		return Wait{Reason: v1beta2.ReasonPending, Message: "The operator waits until the copy to the second location has stopped.", Requeue: time.Second, Patient: true}
	}
	if s.ArchiveBusy && timeLeft(s, PurgeLimit) > 0 {
		return Wait{Reason: v1beta2.ReasonPending, Message: "The operator waits until the continuous archive has stopped.", Requeue: time.Second, Patient: true}
	}
	if s.ArchiveCopyBusy && timeLeft(s, PurgeLimit) > 0 {
		return Wait{Reason: v1beta2.ReasonPending, Message: "The operator waits until the copy of the continuous archive has stopped.", Requeue: time.Second, Patient: true}
	}
	if !s.Held {
		return Idle{}
	}
	if s.Spec.DeletionPolicy != v1beta2.DeletionDelete {
		return Release{}
	}
	if s.Problem != nil {
		return Release{Cause: "The operator cannot delete them, because the spec is invalid: " + s.Problem.Message}
	}
	return purge(s)
}

func purge(s state.State) Step {
	over := timeLeft(s, PurgeLimit) < 0
	switch {
	case s.Attempt != nil && s.Attempt.Queued && over:
		return Release{Cause: fmt.Sprintf("No worker of the operator was free to delete them within %s.", PurgeLimit)}
	case s.Attempt != nil && s.Attempt.Result == nil:
		return Watch{}
	case s.Attempt != nil && s.Attempt.Result.Failure == nil:
		return Release{Removed: s.Attempt.Result.Pruned, Left: s.Attempt.Result.PruneProblem}
	case s.Attempt != nil && over && waitsForRestore(*s.Attempt):
		return Release{Waited: s.Attempt.Result.Failure.Message}
	case s.Attempt != nil && over:
		return Release{Cause: s.Attempt.Result.Failure.Message}
	case s.Attempt != nil:
		return Report{}
	case s.Retrying() && over:
		return Release{Cause: fmt.Sprintf("The operator could not delete them within %s.", PurgeLimit)}
	}
	if step := attemptFailedRecently(s); step != nil {
		return step
	}
	return Purge{Number: nextNumber(s)}
}

// finalizerDiffersFromPolicy sets the finalizer before anything is written that it protects, and before a switchover stops the writes of the cluster.
func finalizerDiffersFromPolicy(s state.State) Step {
	handsOver := state.HandingOver(s) || state.HandsOver(s) && s.Status.Switchover == nil
	switch wanted := s.Spec.DeletionPolicy == v1beta2.DeletionDelete || s.Series() && s.Spec.FinalSnapshot || handsOver; {
	case wanted && !s.Held:
		return Hold{}
	case !wanted && s.Held:
		return Release{}
	}
	return nil
}

// lastCopy copies the final snapshot of a deleted series, before the EtcdBackup is released.
func lastCopy(s state.State) Step {
	left := timeLeft(s, FinalLimit)
	if !s.Held || !s.Spec.FinalSnapshot || s.Spec.CopyTo == nil || left <= 0 {
		return nil
	}
	if s.Copy == nil && CopyTurn(s).IsZero() {
		return nil
	}
	for _, rule := range []func(state.State) Step{copyIsOutdated, copyHasEnded, copyIsDue} {
		if step := rule(s); step != nil {
			return step
		}
	}
	return Wait{Reason: v1beta2.ReasonCopying, Message: Copying, Requeue: min(left, progressInterval), Patient: true}
}
