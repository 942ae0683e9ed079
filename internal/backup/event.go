package backup

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// note is told after the status that it belongs to was written.
type note struct{ Type, Reason, Action, Text string }

// Actions of events.
const (
	actionSnapshot = "TakeSnapshot"
	actionPrune    = "RemoveSnapshots"
	actionValidate = "Validate"
)

// events of a step. Waiting is no event: the condition says it.
func events(s State, step Step) []note {
	switch step := step.(type) {
	case Refuse:
		return []note{{corev1.EventTypeWarning, step.Why, actionValidate, step.Message}}
	case Report:
		return reported(*s.Attempt)
	}
	return nil
}

func reported(a Attempt) []note {
	r := a.Result
	if r.Failure != nil {
		return []note{{corev1.EventTypeWarning, r.Failure.Reason, actionSnapshot, clipNote(fmt.Sprintf("attempt %d: %s", a.Number, r.Failure.Message))}}
	}
	var out []note
	took := r.EndedAt.Sub(a.StartedAt).Round(time.Millisecond)
	if !r.Found {
		out = append(out, note{corev1.EventTypeNormal, "SnapshotTaken", actionSnapshot, clipNote(fmt.Sprintf("%s, in %s", describe(*r.Snapshot), took))})
	}
	if r.Pruned > 0 {
		out = append(out, note{corev1.EventTypeNormal, "SnapshotsRemoved", actionPrune, fmt.Sprintf("removed %d old snapshots", r.Pruned)})
	}
	if r.PruneProblem != "" {
		out = append(out, note{corev1.EventTypeWarning, "RemoveFailed", actionPrune, clipNote(r.PruneProblem)})
	}
	return out
}

// clipNote keeps within the 1 kB that events.k8s.io takes for a note.
func clipNote(text string) string {
	const limit = 1000
	return clipTo(text, limit)
}
