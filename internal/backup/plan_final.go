package backup

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// The final snapshot is one that the deletion of the EtcdBackup asks for, as the annotation does. Its mark in the manifest
// depends on the request, so it is taken once, even if the operator is killed.

// finalLimit is how long the final snapshot may delay the deletion of its EtcdBackup.
const finalLimit = 10 * time.Minute

// finalRequest is the request that the deletion makes.
func finalRequest(deleted time.Time) string { return "final " + stamp(deleted) }

// final returns whether the final snapshot of a deleted series is still to be taken.
func (s State) final() bool {
	return s.Deleting && s.Held && s.Spec.FinalSnapshot && s.Spec.DeletionPolicy != v1beta2.DeletionDelete && s.asked()
}

// takeFinal takes the final snapshot, or gives up.
func takeFinal(s State) Step {
	left := s.left(finalLimit)
	a := s.Attempt
	switch {
	case a != nil && (a.Kind != KindSnapshot || a.Request != s.Request || a.Generation != s.Generation):
		return Cancel{}
	case a != nil && a.Result != nil && (a.Result.Failure == nil || left > 0):
		return Report{}
	case a != nil && a.Result != nil:
		return Release{Missed: missed(*a.Result)}
	case left <= 0:
		return Release{Missed: s.whyMissed()}
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
	return TakeSnapshot{Number: s.nextNumber()}
}

// finalWaits returns what the final snapshot waits for. No wait is longer than the time that is left.
func finalWaits(s State, left time.Duration) Step {
	for _, rule := range []func(State) Step{attemptFailedRecently, clusterIsNotAvailable, secretIsMissing} {
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
func missed(r Result) string {
	if r.untested() {
		return "A new snapshot is in the store, but its restore test could not be carried out. " + r.Failure.Message
	}
	return r.Failure.Message
}

// whyMissed returns why the final snapshot was not taken in time.
func (s State) whyMissed() string {
	why := fmt.Sprintf("The operator could not take it within %s.", finalLimit)
	if s.retrying() && s.Status.Reason != "" {
		why += " " + s.Status.Reason
	}
	return why
}
