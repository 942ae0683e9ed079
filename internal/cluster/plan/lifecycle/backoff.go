package lifecycle

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// PodFailures returns what is to be recorded after a step: one failure more for a Pod that is recreated because it failed,
// and none for a member that serves or is gone. A Pod that waits may be all that there is of a member, and it is created again
// while the cluster lacks members. So is a learner that replaces a member. A learner that keeps its data in its Pod copies all data
// from the beginning after each failure, so it has to get its vote first.
func PodFailures(s state.State, step steps.Step, actErr error) []v1beta2.PodFailure {
	failures := slices.DeleteFunc(slices.Clone(s.PodFailures), func(f v1beta2.PodFailure) bool {
		m, there := state.Find(s, f.Name)
		return m.Serving || (m.Learner && m.Answers && !state.InPod(s, m)) || (!there && s.MembershipKnown && !s.Restoring() && s.Surplus() >= len(steps.LeavingMembers(s)))
	})
	deleted, deletes := step.(steps.DeletePod)
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
