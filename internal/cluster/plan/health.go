package plan

import "github.com/etcd-suite/etcd-operator/api/v1beta2"

// waitUntilHealthy: one change at a time, and none on a cluster that is not well.
func waitUntilHealthy(s State) Step {
	current := s.Current()
	if wait := s.replacementUnschedulable(); wait != nil {
		return wait
	}
	if wait := s.waitForAttempt(current); wait != nil {
		return wait
	}
	if wait := blocked(current); wait != nil {
		return wait
	}
	for _, m := range current {
		switch {
		case s.Formed() && !m.InMembership:
		case m.Learner:
			return Wait{Reason: v1beta2.ReasonScaling, Message: "Member " + m.Name + " is catching up with the leader."}
		case m.Pod == PodDeleting:
			return s.waitUntilGone(m, v1beta2.ReasonMemberDown, "member "+m.Name+" is stopping")
		case m.Serving && m.Pod == PodRunning && m.PodReady:
		case s.unreadyFor(m, startGrace):
			return Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + m.Name + " has not been serving for more than " + startGrace.String() + ": " + m.Unanswered + ". Read the log of its Pod. Delete the Pod to restart the member.", Stalled: true}
		case m.Pod == PodStarting:
			return Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + m.Name + " is starting."}
		default:
			return Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + m.Name + " does not serve: " + m.Unanswered}
		}
	}
	return nil
}

// blocked names the first Pod that cannot start, and why.
func blocked(members []Member) Step {
	for _, m := range members {
		if m.Pod == PodBlocked {
			return Wait{Reason: m.PodReason, Message: "member " + m.Name + ": " + m.PodMessage, Stalled: true}
		}
	}
	return nil
}

func unanswered(members []Member) string {
	text := ""
	for _, m := range members {
		if m.Serving {
			continue
		}
		if text != "" {
			text += "; "
		}
		text += m.Name
		if m.Unanswered != "" {
			text += " (" + m.Unanswered + ")"
		}
	}
	return text
}
