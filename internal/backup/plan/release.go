package plan

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Idle does nothing: the EtcdBackup is being deleted.
type Idle struct{}

// RemoveFinalizer removes the finalizer of coreos/etcd-operator.
type RemoveFinalizer struct{}

// Hold adds the finalizer that keeps the EtcdBackup until its snapshots are deleted.
type Hold struct{}

// Release removes that finalizer. Removed is how many snapshots were deleted. Cause is why they were not, and Missed why
// the final snapshot was not taken, if the operator has given up.
// Left is which objects are kept, because they may not be of this EtcdBackup. Waited is which snapshot an EtcdRestore still needs.
type Release struct {
	Removed                     int
	Cause, Missed, Left, Waited string
}

// Purge starts to delete all snapshots that the EtcdBackup has written.
type Purge struct{ Number int32 }

func (Idle) describe(state.State) planning.Description {
	return planning.Description{Reason: v1beta2.ReasonPending, Message: "The EtcdBackup is being deleted."}
}

func (RemoveFinalizer) describe(state.State) planning.Description {
	return planning.Description{
		Reason: v1beta2.ReasonPending, Requeue: AtOnce,
		Message: "The operator removes the finalizer of coreos/etcd-operator.",
	}
}

func (Hold) describe(state.State) planning.Description {
	return planning.Description{
		Reason: v1beta2.ReasonPending, Requeue: AtOnce,
		Message: "The operator adds a finalizer, because deletionPolicy is Delete or finalSnapshot is true.",
	}
}

func (r Release) describe(s state.State) planning.Description {
	return planning.Description{
		Reason: v1beta2.ReasonPending, Requeue: AtOnce,
		Message: "The operator removes its finalizer.",
		Events:  r.events(s),
	}
}

// events reports what happened to the snapshots of a deleted EtcdBackup.
func (r Release) events(s state.State) []planning.Event {
	switch {
	case !s.Deleting:
		return nil
	case r.Missed != "":
		return []planning.Event{NewEvent(corev1.EventTypeWarning, "FinalSnapshotMissed", actionSnapshot, fmt.Sprintf(
			"The EtcdBackup is deleted without a final snapshot. %s The older snapshots under %s are kept.", r.Missed, s.Target.Path()))}
	case r.Waited != "":
		return []planning.Event{NewEvent(corev1.EventTypeWarning, "SnapshotsLeft", actionPrune, fmt.Sprintf(
			"%s The operator has waited for %s, and does not delete it any more. Delete it when the restore has ended.", r.Waited, PurgeLimit))}
	case r.Cause != "":
		return []planning.Event{NewEvent(corev1.EventTypeWarning, "SnapshotsLeft", actionPrune, fmt.Sprintf(
			"Snapshots under %s are still in the store. %s If you do not need them, delete them yourself.", s.Target.Path(), r.Cause))}
	case s.Spec.CopyTo != nil && s.CopyProblem != nil:
		return []planning.Event{NewEvent(corev1.EventTypeWarning, "SnapshotsLeft", actionPrune, strings.TrimSpace(fmt.Sprintf(
			"The operator deleted the snapshots of the first location: %d. Those of the second location are still there. %s %s", r.Removed, s.CopyProblem.Message, r.Left)))}
	case r.Left != "":
		return []planning.Event{NewEvent(corev1.EventTypeWarning, "SnapshotsLeft", actionPrune,
			fmt.Sprintf("The operator deleted the snapshots of the EtcdBackup under %s: %d. %s", s.Target.Path(), r.Removed, r.Left))}
	case r.Removed > 0:
		return []planning.Event{NewEvent(corev1.EventTypeNormal, "SnapshotsRemoved", actionPrune,
			fmt.Sprintf("The operator deleted the snapshots of the EtcdBackup under %s: %d.", s.Target.Path(), r.Removed))}
	}
	return nil
}

func (Purge) describe(state.State) planning.Description {
	return planning.Description{
		Reason: v1beta2.ReasonRemovingSnapshots, Message: purging, Requeue: progressInterval,
	}
}
