package backup

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

type (
	// Idle does nothing: the EtcdBackup is being deleted.
	Idle struct{}
	// RemoveFinalizer removes the finalizer of coreos/etcd-operator.
	RemoveFinalizer struct{}
	// Hold adds the finalizer that keeps the EtcdBackup until its snapshots are deleted.
	Hold struct{}
	// Release removes that finalizer. Removed is how many snapshots were deleted. Cause is why they were not, and Missed why
	// the final snapshot was not taken, if the operator has given up.
	// Left is which objects are kept, because they may not be of this EtcdBackup. Waited is which snapshot an EtcdRestore still needs.
	Release struct {
		Removed                     int
		Cause, Missed, Left, Waited string
	}
	// Purge starts to delete all snapshots that the EtcdBackup has written.
	Purge struct{ Number int32 }
)

// purgeLimit is how long the snapshots may delay the deletion of their EtcdBackup.
const purgeLimit = 10 * time.Minute

// sureAttempts is how many attempts are enough if the time of the deletion says that a limit is over. They need more than ten
// minutes, because of the pauses between them.
const sureAttempts = 15

// left returns how much of a limit of the deletion is left. It counts from when this process saw the deletion first: the API
// server has set the time of the deletion, by its own clock. A restart begins to count again, so after some attempts that time counts, too.
func (s State) left(limit time.Duration) time.Duration { //nolint:unparam // the two limits are equal only by chance
	left := limit - s.DeletingFor
	if s.retrying() && s.Status.Attempts >= sureAttempts {
		left = min(left, s.DeletedAt.Add(limit).Sub(s.Now))
	}
	return left
}

func (Idle) describe(State) planning.Description {
	return planning.Description{Reason: v1beta2.ReasonPending, Message: "The EtcdBackup is being deleted."}
}

func (RemoveFinalizer) describe(State) planning.Description {
	return planning.Description{
		Reason: v1beta2.ReasonPending, Requeue: atOnce,
		Message: "The operator removes the finalizer of coreos/etcd-operator.",
	}
}

func (Hold) describe(State) planning.Description {
	return planning.Description{
		Reason: v1beta2.ReasonPending, Requeue: atOnce,
		Message: "The operator adds a finalizer, because deletionPolicy is Delete or finalSnapshot is true.",
	}
}

func (r Release) describe(s State) planning.Description {
	return planning.Description{
		Reason: v1beta2.ReasonPending, Requeue: atOnce,
		Message: "The operator removes its finalizer.",
		Events:  r.events(s),
	}
}

// events reports what happened to the snapshots of a deleted EtcdBackup.
func (r Release) events(s State) []planning.Event {
	switch {
	case !s.Deleting:
		return nil
	case r.Missed != "":
		return []planning.Event{newEvent(corev1.EventTypeWarning, "FinalSnapshotMissed", actionSnapshot, fmt.Sprintf(
			"The EtcdBackup is deleted without a final snapshot. %s The older snapshots under %s are kept.", r.Missed, s.Target.Path()))}
	case r.Waited != "":
		return []planning.Event{newEvent(corev1.EventTypeWarning, "SnapshotsLeft", actionPrune, fmt.Sprintf(
			"%s The operator has waited for %s, and does not delete it any more. Delete it when the restore has ended.", r.Waited, purgeLimit))}
	case r.Cause != "":
		return []planning.Event{newEvent(corev1.EventTypeWarning, "SnapshotsLeft", actionPrune, fmt.Sprintf(
			"Snapshots under %s are still in the store. %s If you do not need them, delete them yourself.", s.Target.Path(), r.Cause))}
	case s.Spec.CopyTo != nil && s.CopyProblem != nil:
		return []planning.Event{newEvent(corev1.EventTypeWarning, "SnapshotsLeft", actionPrune, strings.TrimSpace(fmt.Sprintf(
			"The operator deleted the snapshots of the first location: %d. Those of the second location are still there. %s %s", r.Removed, s.CopyProblem.Message, r.Left)))}
	case r.Left != "":
		return []planning.Event{newEvent(corev1.EventTypeWarning, "SnapshotsLeft", actionPrune,
			fmt.Sprintf("The operator deleted the snapshots of the EtcdBackup under %s: %d. %s", s.Target.Path(), r.Removed, r.Left))}
	case r.Removed > 0:
		return []planning.Event{newEvent(corev1.EventTypeNormal, "SnapshotsRemoved", actionPrune,
			fmt.Sprintf("The operator deleted the snapshots of the EtcdBackup under %s: %d.", s.Target.Path(), r.Removed))}
	}
	return nil
}

func (Purge) describe(State) planning.Description {
	return planning.Description{
		Reason: v1beta2.ReasonRemovingSnapshots, Message: purging, Requeue: progressInterval,
	}
}

// purging is the message while the snapshots are deleted.
const purging = "The operator is deleting the snapshots, because deletionPolicy is Delete."

// oldFinalizerIsSet: no other operator removes this finalizer, so the EtcdBackup could never be deleted.
func oldFinalizerIsSet(s State) Step {
	if !s.OldFinalizer {
		return nil
	}
	return RemoveFinalizer{}
}

func backupIsBeingDeleted(s State) Step {
	if !s.Deleting {
		return nil
	}
	if s.final() {
		return takeFinal(s)
	}
	if step := lastCopy(s); step != nil {
		return step
	}
	if s.Copy != nil {
		return CancelCopy{}
	}
	if s.Attempt != nil && s.Attempt.Kind != KindPurge {
		return Cancel{}
	}
	if s.CopyBusy && s.left(purgeLimit) > 0 {
		return Wait{Reason: v1beta2.ReasonPending, Message: "The operator waits until the copy to the second location has stopped.", Requeue: time.Second, Patient: true}
	}
	if s.ArchiveBusy && s.left(purgeLimit) > 0 {
		return Wait{Reason: v1beta2.ReasonPending, Message: "The operator waits until the continuous archive has stopped.", Requeue: time.Second, Patient: true}
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

func purge(s State) Step {
	over := s.left(purgeLimit) < 0
	switch {
	case s.Attempt != nil && s.Attempt.Queued && over:
		return Release{Cause: fmt.Sprintf("No worker of the operator was free to delete them within %s.", purgeLimit)}
	case s.Attempt != nil && s.Attempt.Result == nil:
		return Watch{}
	case s.Attempt != nil && s.Attempt.Result.Failure == nil:
		return Release{Removed: s.Attempt.Result.Pruned, Left: s.Attempt.Result.PruneProblem}
	case s.Attempt != nil && over && s.Attempt.waitsForRestore():
		return Release{Waited: s.Attempt.Result.Failure.Message}
	case s.Attempt != nil && over:
		return Release{Cause: s.Attempt.Result.Failure.Message}
	case s.Attempt != nil:
		return Report{}
	case s.retrying() && over:
		return Release{Cause: fmt.Sprintf("The operator could not delete them within %s.", purgeLimit)}
	}
	if step := attemptFailedRecently(s); step != nil {
		return step
	}
	return Purge{Number: s.nextNumber()}
}

// finalizerDiffersFromPolicy sets the finalizer before anything is written that it protects.
func finalizerDiffersFromPolicy(s State) Step {
	switch wanted := s.Spec.DeletionPolicy == v1beta2.DeletionDelete || s.Series() && s.Spec.FinalSnapshot; {
	case wanted && !s.Held:
		return Hold{}
	case !wanted && s.Held:
		return Release{}
	}
	return nil
}
