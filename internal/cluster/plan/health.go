package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// waitUntilHealthy allows one change at a time, and none while a member is unhealthy. Only addPrepared does not wait for that, so
// the next look is soon if a name is about to resolve.
func waitUntilHealthy(s State) Step {
	step := s.waitForHealth()
	if wait, is := step.(Wait); is && !wait.Stalled && wait.Requeue == 0 && s.resolvesSoon() {
		wait.Requeue = requeueAddress
		return wait
	}
	return step
}

func (s State) waitForHealth() Step {
	current := slices.DeleteFunc(slices.Clone(s.Current()), s.unadded) // waitForPrepared reports them
	if wait := s.replacementUnschedulable(); wait != nil {
		return wait
	}
	if wait := s.waitForAttempt(current); wait != nil {
		return wait
	}
	if wait := s.blocked(current); wait != nil {
		return wait
	}
	for _, m := range current {
		switch {
		case s.Formed() && !m.InMembership:
		case m.Learner:
			return s.waitForLearner(m)
		case m.Pod == PodDeleting:
			return s.waitUntilGone(m, v1beta2.ReasonMemberDown, "Member "+m.Name+" is stopping.")
		case m.Serving && m.Pod == PodRunning && m.PodReady:
		case m.Serving && m.Beside != "" && m.Pod == PodRunning:
			if s.leavingCause(m) == "" {
				return s.waitForBeside(m)
			}
		case s.unreadyFor(m, startGrace):
			return Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + m.Name + " has not been serving for more than " + startGrace.String() + ": " + m.cause() + ". " + s.impact() + s.whyKept(m) + " Read the log of its Pod. " + s.howToRestart(m), Stalled: true}
		case m.StartupBudget > 0:
			return Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + m.Name + " is starting: it reads its database. It may take up to " + m.StartupBudget.String() + " for that.", Limit: m.StartupBudget + waitLimit}
		case m.Pod == PodStarting:
			return Wait{Reason: v1beta2.ReasonSettling, Message: planning.Sentence("Member "+m.Name+" is starting", m.soFar())}
		default:
			return Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + m.Name + " does not serve: " + m.cause() + "."}
		}
	}
	return s.waitForGate(current)
}

// howToRestart says what a person can do with the Pod of a member that does not serve. A deletion restarts the member only if its data is kept.
func (s State) howToRestart(m Member) string {
	if s.goesWithPod(m) {
		return "If you delete the Pod, the data of the member is deleted with it. A new member then takes its place if a quorum has its data."
	}
	return "Delete the Pod to restart the member."
}

// waitForLearner waits until a learner has caught up, or until its Pod may start etcd. No watch reports that. The interval grows with
// the time that it waits.
func (s State) waitForLearner(m Member) Step {
	release := ReleaseMember{Name: m.Name}
	if h, is := s.held(release); is && h.Times > 0 && m.Waits {
		return waitForHeld(s, release, h)
	}
	message := "Member " + m.Name + " is catching up with the leader."
	if m.Unanswered != "" {
		message = planning.Sentence("Member "+m.Name+" has not caught up with the leader yet", m.soFar())
	}
	return Wait{Reason: v1beta2.ReasonScaling, Message: message, Requeue: requeueAddress, Limit: s.catchUpTime() + startGrace}
}

// waitForBeside reports a container beside etcd that is not ready. The Service does not lead to that Pod. A member that is
// about to be replaced is not waited for: the next one may have what this one lacks.
func (s State) waitForBeside(m Member) Step {
	if !s.besideFor(m, startGrace) {
		return Wait{Reason: v1beta2.ReasonMemberDown, Message: planning.Sentence("Member "+m.Name+" serves, but its Pod is not ready: ", m.Beside)}
	}
	return Wait{
		Reason: v1beta2.ReasonMemberDown, Stalled: true,
		Message: planning.Sentence("Member "+m.Name+" serves, but its Pod has not been ready for more than "+startGrace.String()+": ", m.Beside) +
			" The client Service does not select it. The operator changes no other member until it is ready. Correct the container in spec.pod, or the objects that it uses.",
	}
}

// waitForGate waits until the Services select all members again. Otherwise a roll could take all of them from their clients.
func (s State) waitForGate(members []Member) Step {
	for _, m := range members {
		if m.Gate != "" && m.InService && s.Formed() {
			return Wait{
				Reason: v1beta2.ReasonMemberDown, Stalled: s.Now.Sub(m.GateSince) > startGrace, Requeue: requeueSettled,
				Message: planning.Sentence("Member "+m.Name+" serves, but no Service selects its Pod: ", m.Gate) +
					" The operator changes nothing else until it is ready. Check what sets that readiness gate, such as the controller of a load balancer.",
			}
		}
	}
	return nil
}

// whyKept says what an annotation has to do with it that a member which does not serve is not replaced yet.
func (s State) whyKept(m Member) string {
	switch {
	case !s.MembershipKnown:
		return ""
	case slices.Contains(s.Asked.Fence, m.Name):
		return " Annotation " + v1beta2.AnnotationFence + " names it, so the operator does not replace it until its data is lost."
	case slices.Contains(s.Asked.Replace, m.Name):
		return fmt.Sprintf(" Annotation %s names it. The operator replaces it when it serves, or when it has not served for %s.", v1beta2.AnnotationReplace, s.Spec.MemberReplacementGrace())
	}
	return ""
}

// blocked names the first Pod that cannot start, and why.
func (s State) blocked(members []Member) Step {
	for _, m := range members {
		if m.Pod == PodBlocked {
			message := planning.Sentence("Member "+m.Name+" does not run: ", m.PodMessage) + " " + s.impact()
			switch {
			case m.Empty && s.MembershipKnown:
				message += " " + s.whyEmpty(m)
			case m.Empty:
				message += " " + s.whyNoQuorumIsEmpty(members)
			case s.failsBySpec(m):
				message += " The members that serve run with an earlier spec, so the operator neither replaces this one nor restarts the others. Correct the spec, or undo the change."
			default:
				message += s.whyKept(m)
			}
			return Wait{Reason: m.PodReason, Message: message, Stalled: true}
		}
	}
	return nil
}

// whyEmpty says what is wrong with a member whose volume has no data, and what happens.
func (s State) whyEmpty(m Member) string {
	text := "Its volume has no data, and a member that has served does not start without its data. If the data still exists, for example because the node did not mount the disk, bring it back."
	if slices.Contains(s.Asked.Fence, m.Name) {
		return text + " Otherwise remove the member from annotation " + v1beta2.AnnotationFence + ", or delete its PersistentVolumeClaim. Until then the operator does not replace it."
	}
	return text + fmt.Sprintf(" Otherwise the operator replaces the member when it has not served for %s.", s.Spec.MemberReplacementGrace())
}

// whyNoQuorumIsEmpty names the members without a quorum whose volumes have no data. The operator gives none of them up by itself: a node may
// only not have mounted the disk.
func (s State) whyNoQuorumIsEmpty(members []Member) string {
	var empty []string
	for _, m := range members {
		if m.Empty {
			empty = append(empty, m.Name)
		}
	}
	text := "The volumes of these members have no data, and a member that has served does not start without its data: " + strings.Join(empty, ", ") +
		". If the data still exists, for example because the nodes did not mount the disks, bring it back. Otherwise delete the PersistentVolumeClaims of these names."
	if s.Spec.ForcesNewCluster() {
		return text + " The operator then continues from the member with the newest data."
	}
	return text + " The operator then reports how to continue from a member that has its data, or from a snapshot."
}

// impact says whether clients are served while a member is down.
func (s State) impact() string {
	switch v := s.Voters(); {
	case !s.Formed():
		return "The cluster has not formed yet."
	case s.MembershipKnown:
		return fmt.Sprintf("Quorum holds (%d of %d).", v.Healthy, v.Total)
	}
	return s.unlessForeignQuorum("No quorum answers, so etcd accepts no writes.")
}

// cause says why a member does not serve, as a clause.
func (m Member) cause() string { return cmp.Or(m.Unanswered, m.PodMessage, "its Pod is not ready") }

// soFar says what keeps a starting member from serving, after a colon; it is empty if nothing is known.
func (m Member) soFar() string {
	if m.Unanswered == "" {
		return ""
	}
	return ": " + m.Unanswered
}

// unanswered lists the members that do not serve, each with the cause if the member's answer named one.
func unanswered(members []Member) string {
	text := ""
	for _, m := range members {
		if m.Serving {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += m.Name
		if m.Unanswered != "" {
			text += " (" + m.Unanswered + ")"
		}
	}
	return text
}
