package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
)

const (
	// firstAttempt is how long a Pod that failed twice in a row is left alone. The delay doubles up to lastAttempt.
	firstAttempt = time.Second
	lastAttempt  = 5 * time.Minute
	// stalledAttempts is how many failures in a row are for a person to look at.
	stalledAttempts = 3
)

// podFailure is what is recorded of a member's Pods that failed in a row.
func (s State) podFailure(member string) v1beta2.PodFailure {
	for _, f := range s.PodFailures {
		if f.Name == member {
			return f
		}
	}
	return v1beta2.PodFailure{Name: member}
}

// nextAttempt returns when a Pod that failed may be recreated. It is in the past if that is due.
func (s State) nextAttempt(m Member) time.Time {
	f := s.podFailure(m.Name)
	last := clock.Done(f.LastTime.Time, s.Now)
	if f.Count <= 0 || last.IsZero() {
		return time.Time{}
	}
	delay := lastAttempt
	if doublings := f.Count - 1; doublings < 9 {
		delay = min(firstAttempt<<doublings, lastAttempt)
	}
	return last.Add(delay)
}

// backsOff reports whether a Pod that failed is left alone for now. A Pod that is not what the spec asks for is not: the
// correction may be in the spec.
func (s State) backsOff(m Member) bool {
	return m.Pod == PodEnded && s.Now.Before(s.nextAttempt(m)) && m.PodImage == s.ImageFor(m.Incarnation) && !m.Outdated
}

// waitForAttempt reports the first of the members whose Pods fail again and again.
func (s State) waitForAttempt(members []Member) Step {
	for _, m := range members {
		if !s.backsOff(m) {
			continue
		}
		next, failures := s.nextAttempt(m), s.podFailure(m.Name).Count
		return Wait{
			Reason: v1beta2.ReasonPodFailing,
			Message: fmt.Sprintf("The Pod of member %s failed %d times in a row: %s. The member does not serve. The operator recreates the Pod at %s. Make room on the node, or correct spec.pod.",
				m.Name, failures+1, m.PodMessage, next.UTC().Format(time.RFC3339)),
			Stalled: failures+1 >= stalledAttempts,
			Requeue: min(max(next.Sub(s.Now), requeueStarting), requeueStalled),
		}
	}
	return nil
}

// podFailures returns what is to be recorded after a step: one failure more for a Pod that is recreated because it failed,
// and none for a member that serves or is gone. A Pod that waits may be all that there is of a member, and it is created again
// while the cluster lacks members. So is a learner that replaces a member. A learner that keeps its data in its Pod copies all data
// from the beginning after each failure, so it has to get its vote first.
func (s State) podFailures(step Step, actErr error) []v1beta2.PodFailure {
	failures := slices.DeleteFunc(slices.Clone(s.PodFailures), func(f v1beta2.PodFailure) bool {
		m, there := s.member(f.Name)
		return m.Serving || (m.Learner && m.Answers && !s.inPod(m)) || (!there && s.MembershipKnown && !s.Restoring() && s.surplus() >= len(s.leavingMembers()))
	})
	deleted, deletes := step.(DeletePod)
	if m, _ := s.member(deleted.Name); !deletes || actErr != nil || m.Pod != PodEnded {
		return failures
	}
	failure := s.podFailure(deleted.Name)
	failure.Count, failure.LastTime = failure.Count+1, metav1.NewTime(s.Now.Truncate(time.Second))
	failures = slices.DeleteFunc(failures, func(f v1beta2.PodFailure) bool { return f.Name == failure.Name })
	failures = append(failures, failure)
	slices.SortFunc(failures, func(a, b v1beta2.PodFailure) int { return cmp.Compare(a.Name, b.Name) })
	return failures
}
