package plan

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// outcome describes how the attempt ended.
func outcome(s state.State) planning.Description {
	a, r := *s.Attempt, *s.Attempt.Result
	switch {
	case r.Failure != nil:
		return planning.Description{Reason: r.Failure.Reason, Message: failureMessage(s, a, *r.Failure)}
	case a.Kind == state.KindPurge:
		return planning.Description{Reason: v1beta2.ReasonRemovingSnapshots, Message: "The snapshots are deleted."}
	case a.Kind == state.KindPrune:
		return planning.Description{Reason: v1beta2.ReasonSuspended, Message: "The old snapshots are deleted."}
	case a.Kind == state.KindDrill && r.Drill == nil:
		return planning.Description{Reason: v1beta2.ReasonVerified, Message: r.Proof.Message}
	case a.Kind == state.KindDrill && r.Drill.Result == v1beta2.DrillPassed:
		return planning.Description{Reason: v1beta2.ReasonVerified, Message: r.Drill.Message}
	case a.Kind == state.KindDrill:
		return planning.Description{Reason: v1beta2.ReasonSnapshotCorrupt, Message: Unusable(*r.Drill)}
	case s.Series():
		s.Status = *s.Status.DeepCopy()
		state.RecordSuccess(&s.Status, a, s)
		return scheduled(SnapshotTurn(s), r.PruneProblem)
	}
	return planning.Description{Reason: v1beta2.ReasonComplete, Message: contents(*r.Snapshot)}
}

// failureMessage is the message after a failed attempt: what is wrong, and when the operator tries again.
func failureMessage(s state.State, a state.Attempt, f state.Failure) string {
	next := state.Stamp(RetryAt(s, a))
	switch {
	case a.Kind == state.KindDrill:
		return fmt.Sprintf("The restore test could not run. %s The next attempt is due at %s.", f.Message, state.Stamp(a.Result.EndedAt.Add(TestDelay(a.Number))))
	case waitsForRestore(a):
		return fmt.Sprintf("%s The operator waits for the end of the restore, and looks again at %s. At %s it stops waiting, and the snapshot remains in the store.",
			f.Message, next, state.Stamp(s.Now.Add(timeLeft(s, PurgeLimit))))
	case a.Kind == state.KindPurge:
		return fmt.Sprintf("The snapshots were not deleted. %s The next attempt is due at %s. "+
			"At %s it stops trying, and the snapshots remain in the store. To keep them now, write deletionPolicy: Retain.",
			f.Message, next, state.Stamp(s.Now.Add(timeLeft(s, PurgeLimit))))
	case a.Kind == state.KindPrune, Ends(s, f):
		return f.Message
	}
	return fmt.Sprintf("%s This was attempt %d. The next attempt is due at %s.", f.Message, a.Number, next)
}

// waitsForRestore returns whether only a snapshot is left to be deleted that an EtcdRestore needs.
func waitsForRestore(a state.Attempt) bool {
	return a.Kind == state.KindPurge && a.Result.Failure.Reason == v1beta2.ReasonRemovingSnapshots
}

// Ends returns whether the failure ends the EtcdBackup.
func Ends(s state.State, f state.Failure) bool { return state.Terminal(f.Reason) && !s.Series() }

// reported returns the events of an attempt that has ended.
func reported(a state.Attempt) []planning.Event {
	r := a.Result
	if r.Failure != nil {
		action, what := actionSnapshot, "take a snapshot"
		switch a.Kind {
		case state.KindDrill:
			action, what = actionDrill, "run the restore test"
		case state.KindPurge:
			action, what = actionPrune, "delete the snapshots"
		case state.KindPrune:
			action, what = actionPrune, "delete old snapshots"
		}
		return []planning.Event{NewEvent(corev1.EventTypeWarning, r.Failure.Reason, action,
			fmt.Sprintf("Attempt %d to %s failed. %s", a.Number, what, r.Failure.Message))}
	}
	var out []planning.Event
	if r.Snapshot != nil && !r.Found {
		took := r.EndedAt.Sub(a.StartedAt).Round(time.Millisecond)
		out = append(out, NewEvent(corev1.EventTypeNormal, "SnapshotTaken", actionSnapshot, fmt.Sprintf("%s It took %s.", contents(*r.Snapshot), took)))
	}
	if r.Snapshot != nil && !r.Found && r.Snapshot.NoQuorum {
		out = append(out, NewEvent(corev1.EventTypeWarning, "NoQuorum", actionSnapshot, fmt.Sprintf(
			"Snapshot %s was taken from a member without quorum. It may lack writes that etcd has confirmed to clients.", r.Snapshot.Path)))
	}
	if r.Drill != nil {
		out = append(out, tested(*r.Drill))
	}
	if r.Proof != nil && r.Proof.Result != v1beta2.ProofSkipped {
		out = append(out, provedEvent(*r.Proof))
	}
	if r.Pruned > 0 {
		out = append(out, NewEvent(corev1.EventTypeNormal, "SnapshotsRemoved", actionPrune,
			fmt.Sprintf("The operator deleted old snapshots: %d.", r.Pruned)))
	}
	if r.PruneProblem != "" {
		out = append(out, NewEvent(corev1.EventTypeWarning, "RemoveFailed", actionPrune, r.PruneProblem))
	}
	return out
}
