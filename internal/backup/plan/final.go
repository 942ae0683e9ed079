package plan

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// The final snapshot is one that the deletion of the EtcdBackup asks for, as the annotation does. Its mark in the manifest
// depends on the request, so it is taken once, even if the operator is killed.

// takeFinal takes the final snapshot, or gives up.
func takeFinal(s state.State) Step {
	left := timeLeft(s, FinalLimit)
	a := s.Attempt
	switch {
	case a != nil && (a.Kind != state.KindSnapshot || a.Request != s.Request || a.Generation != s.Generation):
		return Cancel{}
	case a != nil && a.Result != nil && (a.Result.Failure == nil || left > 0):
		return Report{}
	case a != nil && a.Result != nil:
		return Release{Missed: missed(*a.Result)}
	case left <= 0:
		return Release{Missed: whyMissed(s)}
	case s.Problem != nil:
		return Release{Missed: s.Problem.Message}
	case a != nil:
		return Watch{}
	case s.Spec.EtcdCluster != nil && (s.Cluster == nil || s.Cluster.CreatedAt.After(s.DeletedAt)):
		return Release{Missed: fmt.Sprintf("The EtcdCluster %s does not exist any more.", s.Spec.EtcdCluster.Name)}
	}
	if step := finalWaits(s, left); step != nil {
		return step
	}
	return TakeSnapshot{Number: nextNumber(s)}
}

// finalWaits returns what the final snapshot waits for. No wait is longer than the time that is left.
func finalWaits(s state.State, left time.Duration) Step {
	for _, rule := range []func(state.State) Step{attemptFailedRecently, clusterIsNotAvailable, secretIsMissing} {
		switch step := rule(s).(type) {
		case nil:
		case Wait:
			if step.Requeue == 0 || left < step.Requeue {
				step.Requeue = left
			}
			return step
		case Backoff:
			step.Until = s.Now.Add(left)
			return step
		default:
			return step
		}
	}
	return nil
}

// missed returns why the last attempt is not the final snapshot.
func missed(r state.Result) string {
	if untested(r) {
		return "A new snapshot is in the store, but its restore test could not be carried out. " + r.Failure.Message
	}
	return r.Failure.Message
}

// whyMissed returns why the final snapshot was not taken in time.
func whyMissed(s state.State) string {
	why := fmt.Sprintf("The operator could not take it within %s.", FinalLimit)
	if s.Retrying() && s.Status.Reason != "" {
		why += " " + s.Status.Reason
	}
	return why
}
