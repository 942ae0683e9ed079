package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// waitForAttempt reports the first of the members whose Pods fail again and again.
func waitForAttempt(s state.State, members []state.Member) Step {
	for _, m := range members {
		if !state.BacksOff(s, m) {
			continue
		}
		next, failures := state.NextAttempt(s, m), state.PodFailure(s, m.Name).Count
		return Wait{
			Reason: v1beta2.ReasonPodFailing,
			Message: fmt.Sprintf("The Pod of member %s failed %d times in a row: %s. The member does not serve. The operator recreates the Pod at %s. Make room on the node, or correct spec.pod.",
				m.Name, failures+1, m.PodMessage, next.UTC().Format(time.RFC3339)),
			Stalled: failures+1 >= state.StalledAttempts,
			Requeue: min(max(next.Sub(s.Now), state.RequeueStarting), state.RequeueStalled),
		}
	}
	return nil
}

// podFailures returns what is to be recorded after a step: one failure more for a Pod that is recreated because it failed,
// and none for a member that serves or is gone. A Pod that waits may be all that there is of a member, and it is created again
// while the cluster lacks members. So is a learner that replaces a member. A learner that keeps its data in its Pod copies all data
// from the beginning after each failure, so it has to get its vote first.
func podFailures(s state.State, step Step, actErr error) []v1beta2.PodFailure {
	failures := slices.DeleteFunc(slices.Clone(s.PodFailures), func(f v1beta2.PodFailure) bool {
		m, there := state.Find(s, f.Name)
		return m.Serving || (m.Learner && m.Answers && !state.InPod(s, m)) || (!there && s.MembershipKnown && !s.Restoring() && s.Surplus() >= len(leavingMembers(s)))
	})
	deleted, deletes := step.(DeletePod)
	if m, _ := state.Find(s, deleted.Name); !deletes || actErr != nil || m.Pod != state.PodEnded {
		return failures
	}
	failure := state.PodFailure(s, deleted.Name)
	failure.Count, failure.LastTime = failure.Count+1, metav1.NewTime(s.Now.Truncate(time.Second))
	failures = slices.DeleteFunc(failures, func(f v1beta2.PodFailure) bool { return f.Name == failure.Name })
	failures = append(failures, failure)
	slices.SortFunc(failures, func(a, b v1beta2.PodFailure) int { return cmp.Compare(a.Name, b.Name) })
	return failures
}
