package repair

import (
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// WaitUntilHealthy allows one change at a time, and none while a member is unhealthy. Only addPrepared does not wait for that, so
// the next look is soon if a name is about to resolve.
func WaitUntilHealthy(s state.State) steps.Step {
	step := waitForHealth(s)
	if wait, is := step.(steps.Wait); is && !wait.Stalled && wait.Requeue == 0 && waits.ResolvesSoon(s) {
		wait.Requeue = state.RequeueAddress
		return wait
	}
	return step
}

func waitForHealth(s state.State) steps.Step {
	current := slices.DeleteFunc(slices.Clone(s.Current()), func(m state.Member) bool { return state.Unadded(s, m) }) // waitForPrepared reports them
	if wait := waits.ReplacementUnschedulable(s); wait != nil {
		return wait
	}
	if wait := waits.WaitForAttempt(s, current); wait != nil {
		return wait
	}
	if wait := waits.Blocked(s, current); wait != nil {
		return wait
	}
	for _, m := range current {
		switch {
		case s.Formed() && !m.InMembership:
		case m.Learner:
			return waitForLearner(s, m)
		case m.Pod == state.PodDeleting:
			return waits.WaitUntilGone(s, m, v1beta2.ReasonMemberDown, "Member "+m.Name+" is stopping.")
		case m.Serving && m.Pod == state.PodRunning && m.PodReady:
		case m.Serving && m.Beside != "" && m.Pod == state.PodRunning:
			if steps.LeavingCause(s, m) == "" {
				return waitForBeside(s, m)
			}
		case state.UnreadyFor(s, m, state.StartGrace):
			return steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + m.Name + " has not been serving for more than " + state.StartGrace.String() + ": " + m.Cause() + ". " + state.Impact(s) + state.WhyKept(s, m) + " Read the log of its Pod. " + howToRestart(s, m), Stalled: true}
		case m.StartupBudget > 0:
			return steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + m.Name + " is starting: it reads its database. It may take up to " + m.StartupBudget.String() + " for that.", Limit: m.StartupBudget + state.WaitLimit}
		case m.Pod == state.PodStarting:
			return steps.Wait{Reason: v1beta2.ReasonSettling, Message: planning.Sentence("Member "+m.Name+" is starting", m.SoFar())}
		default:
			return steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + m.Name + " does not serve: " + m.Cause() + "."}
		}
	}
	return waitForGate(s, current)
}

// howToRestart says what a person can do with the Pod of a member that does not serve. A deletion restarts the member only if its data is kept. It does not help
// if the others refuse the member because of their CAs.
func howToRestart(s state.State, m state.Member) string {
	switch others := waits.RefusedByOthers(s, m); {
	case others != "":
		return strings.TrimSpace(others)
	case state.GoesWithPod(s, m):
		return "If you delete the Pod, the data of the member is deleted with it. A new member then takes its place if a quorum has its data."
	}
	return "Delete the Pod to restart the member."
}

// waitForLearner waits until a learner has caught up, or until its Pod may start etcd. No watch reports that. The interval grows with
// the time that it waits.
func waitForLearner(s state.State, m state.Member) steps.Step {
	release := steps.ReleaseMember{Name: m.Name}
	if h, is := waits.Held(s, release); is && h.Times > 0 && m.Waits {
		return waits.WaitForHeld(s, release, h)
	}
	message := "Member " + m.Name + " is catching up with the leader."
	if m.Unanswered != "" {
		message = planning.Sentence("Member "+m.Name+" has not caught up with the leader yet", m.SoFar())
	}
	return steps.Wait{Reason: v1beta2.ReasonScaling, Message: message, Requeue: state.RequeueAddress, Limit: state.CatchUpTime(s) + state.StartGrace}
}

// waitForBeside reports a container beside etcd that is not ready. The Service does not lead to that Pod. A member that is
// about to be replaced is not waited for: the next one may have what this one lacks.
func waitForBeside(s state.State, m state.Member) steps.Step {
	if !state.BesideFor(s, m, state.StartGrace) {
		return steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: planning.Sentence("Member "+m.Name+" serves, but its Pod is not ready: ", m.Beside)}
	}
	return steps.Wait{
		Reason: v1beta2.ReasonMemberDown, Stalled: true,
		Message: planning.Sentence("Member "+m.Name+" serves, but its Pod has not been ready for more than "+state.StartGrace.String()+": ", m.Beside) +
			" The client Service does not select it. The operator changes no other member until it is ready. Correct the container in spec.pod, or the objects that it uses.",
	}
}

// waitForGate waits until the Services select all members again. Otherwise a roll could take all of them from their clients.
func waitForGate(s state.State, members []state.Member) steps.Step {
	for _, m := range members {
		if m.Gate != "" && m.InService && s.Formed() {
			return steps.Wait{
				Reason: v1beta2.ReasonMemberDown, Stalled: s.Now.Sub(m.GateSince) > state.StartGrace, Requeue: state.RequeueSettled,
				Message: planning.Sentence("Member "+m.Name+" serves, but no Service selects its Pod: ", m.Gate) +
					" The operator changes nothing else until it is ready. Check what sets that readiness gate, such as the controller of a load balancer.",
			}
		}
	}
	return nil
}

// QuorumGap is how long no quorum may answer before the time of a member that fails begins anew. One slow read is no outage.
const QuorumGap = state.SilenceGrace
