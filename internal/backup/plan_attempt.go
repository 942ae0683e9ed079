package backup

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

type (
	// Cancel stops the attempt, or drops its result: the spec has changed or the EtcdBackup is being deleted.
	Cancel struct{}
	// Report writes the result of the attempt into the status.
	Report struct{}
	// Watch shows the progress of the attempt.
	Watch struct{}
)

func (Cancel) describe(s State) planning.Description {
	cause := "the spec has changed"
	if s.Deleting {
		cause = "the EtcdBackup is being deleted"
	}
	return planning.Description{
		Reason: v1beta2.ReasonPending, Requeue: atOnce,
		Message: "The operator stopped the attempt, because " + cause + ".",
	}
}

func (Watch) describe(s State) planning.Description {
	d := planning.Description{Reason: v1beta2.ReasonRunning, Message: s.Attempt.Progress.String(), Requeue: progressInterval}
	if s.Attempt.Queued {
		d.Requeue = longestSleep // a worker that begins or ends an attempt starts a pass
	}
	if s.final() {
		d.Requeue = min(d.Requeue, sleep(s.Now, s.Now.Add(s.left(finalLimit)+time.Second)))
	}
	switch s.Attempt.Kind {
	case KindDrill:
		d.Reason = v1beta2.ReasonVerifying
	case KindPurge:
		d.Reason, d.Message = v1beta2.ReasonRemovingSnapshots, purging
		if s.Attempt.Queued {
			d.Requeue = sleep(s.Now, s.Now.Add(s.left(purgeLimit)+time.Second))
		}
	case KindPrune:
		d.Reason, d.Message = v1beta2.ReasonRemovingSnapshots, pruning
	}
	return d
}

func (Report) describe(s State) planning.Description {
	d := s.outcome()
	d.Events, d.Requeue = reported(*s.Attempt), atOnce
	return d
}

// outcome describes how the attempt ended.
func (s State) outcome() planning.Description {
	a, r := *s.Attempt, *s.Attempt.Result
	switch {
	case r.Failure != nil:
		return planning.Description{Reason: r.Failure.Reason, Message: s.failure(a, *r.Failure)}
	case a.Kind == KindPurge:
		return planning.Description{Reason: v1beta2.ReasonRemovingSnapshots, Message: "The snapshots are deleted."}
	case a.Kind == KindPrune:
		return planning.Description{Reason: v1beta2.ReasonSuspended, Message: "The old snapshots are deleted."}
	case a.Kind == KindDrill && r.Drill == nil:
		return planning.Description{Reason: v1beta2.ReasonVerified, Message: r.Proof.Message}
	case a.Kind == KindDrill && r.Drill.Result == v1beta2.DrillPassed:
		return planning.Description{Reason: v1beta2.ReasonVerified, Message: r.Drill.Message}
	case a.Kind == KindDrill:
		return planning.Description{Reason: v1beta2.ReasonSnapshotCorrupt, Message: unusable(*r.Drill)}
	case s.Series():
		s.Status = *s.Status.DeepCopy()
		recordSuccess(&s.Status, a, s)
		return scheduled(s.turn(), r.PruneProblem)
	}
	return planning.Description{Reason: v1beta2.ReasonComplete, Message: contents(*r.Snapshot)}
}

// failure is the message after a failed attempt: what is wrong, and when the operator tries again.
func (s State) failure(a Attempt, f Failure) string {
	next := stamp(s.retryAt(a))
	switch {
	case a.Kind == KindDrill:
		return fmt.Sprintf("The restore test could not run. %s The next attempt is due at %s.", f.Message, stamp(a.Result.EndedAt.Add(testDelay(a.Number))))
	case a.waitsForRestore():
		return fmt.Sprintf("%s The operator waits for the end of the restore, and looks again at %s. At %s it stops waiting, and the snapshot remains in the store.",
			f.Message, next, stamp(s.Now.Add(s.left(purgeLimit))))
	case a.Kind == KindPurge:
		return fmt.Sprintf("The snapshots were not deleted. %s The next attempt is due at %s. "+
			"At %s it stops trying, and the snapshots remain in the store. To keep them now, write deletionPolicy: Retain.",
			f.Message, next, stamp(s.Now.Add(s.left(purgeLimit))))
	case a.Kind == KindPrune, s.ends(f):
		return f.Message
	}
	return fmt.Sprintf("%s This was attempt %d. The next attempt is due at %s.", f.Message, a.Number, next)
}

// waitsForRestore returns whether only a snapshot is left to be deleted that an EtcdRestore needs.
func (a Attempt) waitsForRestore() bool {
	return a.Kind == KindPurge && a.Result.Failure.Reason == v1beta2.ReasonRemovingSnapshots
}

// ends returns whether the failure ends the EtcdBackup.
func (s State) ends(f Failure) bool { return terminal(f.Reason) && !s.Series() }

// specChangedDuringAttempt drops what an old spec has asked for, even its result. If the old attempt has written a
// snapshot, the next attempt finds it in the store.
func specChangedDuringAttempt(s State) Step {
	if s.Attempt == nil || s.Attempt.Generation == s.Generation {
		return nil
	}
	return Cancel{}
}

func attemptHasEnded(s State) Step {
	if s.Attempt == nil || s.Attempt.Result == nil {
		return nil
	}
	return Report{}
}

func attemptIsRunning(s State) Step {
	if s.Attempt == nil {
		return nil
	}
	return Watch{}
}

// Actions of events.
const (
	actionSnapshot = "TakeSnapshot"
	actionPrune    = "RemoveSnapshots"
	actionValidate = "Validate"
	actionDrill    = "Drill"
	actionExpire   = "Expire"
)

func newEvent(kind, reason, action, note string) planning.Event {
	return planning.Event{Type: kind, Reason: reason, Action: action, Note: planning.Shorten(note, planning.MaxNote)}
}

// reported returns the events of an attempt that has ended.
func reported(a Attempt) []planning.Event {
	r := a.Result
	if r.Failure != nil {
		action, what := actionSnapshot, "take a snapshot"
		switch a.Kind {
		case KindDrill:
			action, what = actionDrill, "run the restore test"
		case KindPurge:
			action, what = actionPrune, "delete the snapshots"
		case KindPrune:
			action, what = actionPrune, "delete old snapshots"
		}
		return []planning.Event{newEvent(corev1.EventTypeWarning, r.Failure.Reason, action,
			fmt.Sprintf("Attempt %d to %s failed. %s", a.Number, what, r.Failure.Message))}
	}
	var out []planning.Event
	if r.Snapshot != nil && !r.Found {
		took := r.EndedAt.Sub(a.StartedAt).Round(time.Millisecond)
		out = append(out, newEvent(corev1.EventTypeNormal, "SnapshotTaken", actionSnapshot, fmt.Sprintf("%s It took %s.", contents(*r.Snapshot), took)))
	}
	if r.Snapshot != nil && !r.Found && r.Snapshot.NoQuorum {
		out = append(out, newEvent(corev1.EventTypeWarning, "NoQuorum", actionSnapshot, fmt.Sprintf(
			"Snapshot %s was taken from a member without quorum. It may lack writes that etcd has confirmed to clients.", r.Snapshot.Path)))
	}
	if r.Drill != nil {
		out = append(out, tested(*r.Drill))
	}
	if r.Proof != nil && r.Proof.Result != v1beta2.ProofSkipped {
		out = append(out, provedEvent(*r.Proof))
	}
	if r.Pruned > 0 {
		out = append(out, newEvent(corev1.EventTypeNormal, "SnapshotsRemoved", actionPrune,
			fmt.Sprintf("The operator deleted old snapshots: %d.", r.Pruned)))
	}
	if r.PruneProblem != "" {
		out = append(out, newEvent(corev1.EventTypeWarning, "RemoveFailed", actionPrune, r.PruneProblem))
	}
	return out
}

// tested returns the event of a restore test.
func tested(d v1beta2.BackupDrill) planning.Event {
	if d.Result == v1beta2.DrillPassed {
		return newEvent(corev1.EventTypeNormal, "DrillPassed", actionDrill, fmt.Sprintf("Snapshot %s passed the restore test. %s", d.Path, d.Message))
	}
	return newEvent(corev1.EventTypeWarning, "DrillFailed", actionDrill, unusable(d))
}
