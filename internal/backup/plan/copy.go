package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

// The copies to a second location are attempts of their own, beside those of the first one, so that a location that fails
// delays no snapshot.

type (
	// Copy starts to copy snapshots to the second location.
	Copy struct{ Number int32 }
	// CancelCopy stops a copy, or drops its result: the spec has changed.
	CancelCopy struct{}
	// ReportCopy writes the result of a copy into the status.
	ReportCopy struct{}
)

func (Copy) describe(state.State) planning.Description {
	return planning.Description{Reason: v1beta2.ReasonCopying, Message: Copying, Requeue: AtOnce}
}

func (CancelCopy) describe(state.State) planning.Description {
	return planning.Description{Reason: v1beta2.ReasonCopying, Message: "The operator stopped the copy, because the spec has changed.", Requeue: AtOnce}
}

func (ReportCopy) describe(s state.State) planning.Description {
	d := planning.Description{Reason: v1beta2.ReasonCopied, Message: "The second location has the newest snapshot.", Requeue: AtOnce}
	if s.Copy == nil || s.Copy.Result == nil || s.Copy.Result.Failure == nil {
		return d
	}
	f := *s.Copy.Result.Failure
	d.Reason = f.Reason
	d.Message = fmt.Sprintf("%s This was attempt %d to copy. The next attempt is due at %s. The first location is not affected.",
		f.Message, s.Copy.Number, state.Stamp(s.Copy.Result.EndedAt.Add(DelayUpTo(s.Copy.Number, problem.Longest(f.Reason)))))
	d.Events = []planning.Event{NewEvent(corev1.EventTypeWarning, "CopyFailed", ActionCopy, d.Message)}
	return d
}

// copyIsOutdated drops what an old spec has asked for.
func copyIsOutdated(s state.State) Step {
	if s.Copy == nil || s.Copy.Generation == s.Generation {
		return nil
	}
	return CancelCopy{}
}

func copyHasEnded(s state.State) Step {
	if s.Copy == nil || s.Copy.Result == nil {
		return nil
	}
	return ReportCopy{}
}

// copyIsDue comes before all rules that wait, because a copy needs neither the cluster nor the first location's turn.
func copyIsDue(s state.State) Step {
	at := CopyTurn(s)
	if at.IsZero() || s.Now.Before(at) {
		return nil
	}
	number := int32(1)
	if c := s.Status.Copies; c != nil && c.ObservedGeneration == s.Generation {
		number = c.Attempts + 1
	}
	return Copy{Number: number}
}
