package backup

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// note is told after the status that it belongs to was written.
type note struct{ Type, Reason, Action, Text string }

// Actions of events.
const (
	actionSnapshot = "TakeSnapshot"
	actionPrune    = "RemoveSnapshots"
	actionValidate = "Validate"
	actionDrill    = "Drill"
	actionExpire   = "Expire"
)

// events of a step. Waiting is no event: the condition says it.
func events(s State, step Step) []note {
	switch step := step.(type) {
	case Refuse:
		return []note{{corev1.EventTypeWarning, step.Why, actionValidate, step.Message}}
	case Report:
		return reported(*s.Attempt)
	case Release:
		return released(s, step)
	case Expire:
		return []note{{corev1.EventTypeNormal, "Expired", actionExpire, "deleted, as ttlSecondsAfterFinished says"}}
	}
	return nil
}

func reported(a Attempt) []note {
	r := a.Result
	if r.Failure != nil {
		action, what := actionSnapshot, "attempt"
		switch a.Kind {
		case KindDrill:
			action, what = actionDrill, "drill, attempt"
		case KindPurge:
			action, what = actionPrune, "removal of the snapshots, attempt"
		}
		return []note{{corev1.EventTypeWarning, r.Failure.Reason, action, clipNote(fmt.Sprintf("%s %d: %s", what, a.Number, r.Failure.Message))}}
	}
	var out []note
	took := r.EndedAt.Sub(a.StartedAt).Round(time.Millisecond)
	if r.Snapshot != nil && !r.Found {
		out = append(out, note{corev1.EventTypeNormal, "SnapshotTaken", actionSnapshot, clipNote(fmt.Sprintf("%s, in %s", describe(*r.Snapshot), took))})
	}
	if r.Snapshot != nil && !r.Found && r.Snapshot.NoQuorum {
		out = append(out, note{corev1.EventTypeWarning, "NoQuorum", actionSnapshot, clipNote(r.Snapshot.Path + " was taken from a member without quorum: it may lack what was confirmed to clients")})
	}
	if r.Drill != nil {
		out = append(out, drilled(*r.Drill))
	}
	if r.Pruned > 0 {
		out = append(out, note{corev1.EventTypeNormal, "SnapshotsRemoved", actionPrune, fmt.Sprintf("removed %d old snapshots", r.Pruned)})
	}
	if r.PruneProblem != "" {
		out = append(out, note{corev1.EventTypeWarning, "RemoveFailed", actionPrune, clipNote(r.PruneProblem)})
	}
	return out
}

func drilled(d v1beta2.BackupDrill) note {
	if d.Result == v1beta2.DrillPassed {
		return note{corev1.EventTypeNormal, "DrillPassed", actionDrill, clipNote(d.Path + " was read back and restored: " + d.Message)}
	}
	return note{corev1.EventTypeWarning, "DrillFailed", actionDrill, clipNote(broken(d))}
}

// released tells what became of the snapshots of an EtcdBackup that goes.
func released(s State, step Release) []note {
	switch {
	case !s.Deleting:
		return nil
	case step.Left != "":
		return []note{{corev1.EventTypeWarning, "SnapshotsLeft", actionPrune, clipNote("the snapshots under " + s.Target.Path() + " were not removed: " + step.Left)}}
	case step.Removed > 0:
		return []note{{corev1.EventTypeNormal, "SnapshotsRemoved", actionPrune, fmt.Sprintf("removed all %d snapshots", step.Removed)}}
	}
	return nil
}

// clipNote keeps within the 1 kB that events.k8s.io takes for a note.
func clipNote(text string) string {
	const limit = 1000
	return clipTo(text, limit)
}
