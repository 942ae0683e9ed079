package waits

import (
	"cmp"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// WaitForAttempt reports the first of the members whose Pods fail again and again.
func WaitForAttempt(s state.State, members []state.Member) steps.Step {
	for _, m := range members {
		if !state.BacksOff(s, m) {
			continue
		}
		next, failures := state.NextAttempt(s, m), state.PodFailure(s, m.Name).Count
		return steps.Wait{
			Reason: v1beta2.ReasonPodFailing,
			Message: fmt.Sprintf("The Pod of member %s failed %d times in a row: %s. The member does not serve. The operator recreates the Pod at %s. Make room on the node, or correct spec.pod.",
				m.Name, failures+1, m.PodMessage, next.UTC().Format(time.RFC3339)),
			Stalled: failures+1 >= state.StalledAttempts,
			Requeue: min(max(next.Sub(s.Now), state.RequeueStarting), state.RequeueStalled),
		}
	}
	return nil
}

// Blocked names the first Pod that cannot start, and why.
func Blocked(s state.State, members []state.Member) steps.Step {
	for _, m := range members {
		if m.Pod == state.PodBlocked {
			message := planning.Sentence("Member "+m.Name+" does not run: ", m.PodMessage) + " " + state.Impact(s)
			switch {
			case m.Empty && s.MembershipKnown:
				message += " " + state.WhyEmpty(s, m)
			case m.Empty:
				message += " " + state.WhyNoQuorumIsEmpty(s, members)
			case state.FailsBySpec(s, m):
				message += " The members that serve run with an earlier spec, so the operator neither replaces this one nor restarts the others. Correct the spec, or undo the change."
			default:
				message += state.WhyKept(s, m)
			}
			return steps.Wait{Reason: m.PodReason, Message: message, Stalled: true}
		}
	}
	return nil
}

// ReplacementUnschedulable reports that the learner that replaces such a member finds no node. One cause is antiAffinity
// with as many nodes as members.
func ReplacementUnschedulable(s state.State) steps.Step {
	learner, ok := s.Learner()
	if !ok || learner.Pod != state.PodBlocked || learner.PodReason != v1beta2.ReasonPodUnschedulable {
		return nil
	}
	leaving := steps.LeavingMembers(s)
	if len(leaving) == 0 {
		return nil
	}
	first, wayOut := leaving[0], "Add a node."
	if steps.LeavingCause(s, first) == state.AskedFor {
		wayOut = "Add a node, or remove the annotation."
	}
	if steps.LeavingCause(s, first) == state.PodRecreated {
		wayOut = "Add a node, or undo the change in the spec."
	}
	return steps.Wait{
		Reason: learner.PodReason,
		Message: planning.Sentence("Member "+learner.Name+" cannot be scheduled: ", learner.PodMessage) + " It replaces member " + first.Name +
			", because " + steps.LeavingCause(s, first) + ". " + state.Impact(s) + " Until then all members need a node of their own. " + wayOut,
		Stalled: true,
	}
}

// WaitUntilGone waits until a Pod or volume is deleted. If that takes too long, the message names what a person must do.
func WaitUntilGone(s state.State, m state.Member, why, message string) steps.Step {
	switch {
	case state.Overdue(s, m) && m.Held:
		return WaitForFinalizer(m)
	case state.Overdue(s, m):
		return steps.Wait{
			Reason:  v1beta2.ReasonPodFailing,
			Message: "Pod " + m.Name + " should have stopped, but its node does not confirm it. It may still run, so the operator waits. " + state.HowToEnd(m),
			Stalled: true,
		}
	}
	return steps.Wait{Reason: why, Message: message}
}

// WaitForFinalizer reports a Pod whose object is kept by a finalizer of another party. A deletion with --force removes none.
func WaitForFinalizer(m state.Member) steps.Step {
	is := "Nothing of it runs any more."
	if !m.Stopped && !m.Terminated {
		is = "Its node has not confirmed that it has stopped, so make sure that the node is off."
	}
	return steps.Wait{
		Reason: v1beta2.ReasonPodFailing,
		Message: "Pod " + m.Name + " is deleted, but a finalizer keeps its object: " + cmp.Or(m.Finalizers, "unknown") + ". " + is +
			" Correct the controller that set the finalizer, or remove the finalizer from the Pod.",
		Stalled: true,
	}
}
