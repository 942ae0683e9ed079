package cluster

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// rule looks at a State and says one Step, or nil when it has nothing to say.
type rule func(State) Step

// namedRule carries its name for TestPlanOrder and for logs.
type namedRule struct {
	name string
	say  rule
}

// rules are asked in order; the first that says something wins. The order is part of the contract: what must
// not go on while something else is wrong stands after it.
var rules = []namedRule{
	{"deleting", deleting},
	{"paused", paused},
	{"secrets", secrets},
	{"services", services},
	{"unblock", unblock},
	{"removeStrays", removeStrays},
	{"startMember", startMember},
	{"restore", restore},
	{"awaitRestore", awaitRestore},
	{"bootstrap", bootstrap},
	{"quorum", quorum},
	{"expose", expose},
	{"promote", promote},
	{"removeOrphanPods", removeOrphanPods},
	{"replaceLost", replaceLost},
	{"scaleDown", scaleDown},
	{"settle", settle},
	{"scaleUp", scaleUp},
	{"roll", roll},
	{"deleteOldVolumes", deleteOldVolumes},
	{"completeRestore", completeRestore},
}

// Plan is the next step. It is pure: the same State gives the same Step.
func Plan(s State) Step {
	for _, r := range rules {
		if step := r.say(s); step != nil {
			return step
		}
	}
	return Done{}
}

// deleting: the garbage collector takes what the cluster owns.
func deleting(s State) Step {
	if !s.Deleting {
		return nil
	}
	return Idle{Why: v1beta2.ReasonPaused, Message: "being deleted"}
}

func paused(s State) Step {
	if !s.Spec.Paused {
		return nil
	}
	return Idle{Why: v1beta2.ReasonPaused, Message: "spec.paused is true: set it to false to let the operator go on"}
}

// secrets: without them Pods would hang and members could not be asked.
func secrets(s State) Step {
	if s.SecretProblem == "" {
		return nil
	}
	return Wait{Why: v1beta2.ReasonSecretMissing, Message: s.SecretProblem, Stalled: true}
}

// services come first: members find each other by the headless one.
func services(s State) Step {
	incarnation := max(s.Incarnation, firstIncarnation)
	current := s.Services.HeadlessCurrent && s.Services.ClientCurrent &&
		s.Services.ClientIncarnation == incarnation && s.Services.ClientClusterID == s.ClusterID
	if current {
		return nil
	}
	return ApplyServices{Incarnation: incarnation, ClusterID: s.ClusterID}
}

// unblock makes a Pod again that cannot go on as it is; the volume stays.
func unblock(s State) Step {
	for _, m := range s.Members {
		if m.Pod == PodEnded {
			return DeletePod{Name: m.Name, Why: v1beta2.ReasonMemberDown, Message: "make the Pod again: " + m.PodMessage}
		}
		if m.Pod == PodBlocked && s.MembershipKnown && m.InMembership && !m.Started && m.Start == StartRejoin {
			return DeletePod{Name: m.Name, Why: v1beta2.ReasonScaling, Message: "make the Pod again: the member has yet to join"}
		}
		if m.Pod == PodBlocked && m.PodImage != s.Spec.Image() {
			return DeletePod{Name: m.Name, Why: v1beta2.ReasonSettling, Message: "make the Pod again with image " + s.Spec.Image()}
		}
	}
	return nil
}

// quorum: without one etcd changes nothing, and neither does the operator.
func quorum(s State) Step {
	if !s.Formed() || s.MembershipKnown {
		return nil
	}
	holders := s.where(func(m Member) bool { return m.Incarnation == s.Incarnation && m.HoldsData() })
	if s.KnownVoters > 0 && len(holders) < etcd.Quorum(s.KnownVoters) {
		return Wait{
			Why:     v1beta2.ReasonQuorumLost,
			Message: fmt.Sprintf("quorum is lost: %d of %d voters still have their data, and %d are needed; nothing is removed: apply an EtcdRestore to go on from a snapshot", len(holders), s.KnownVoters, etcd.Quorum(s.KnownVoters)),
			Stalled: true,
		}
	}
	if wait := blocked(s.Current()); wait != nil {
		return wait
	}
	return Wait{Why: v1beta2.ReasonMemberDown, Message: "no quorum of members answers; members that hold data are running or being started: " + unanswered(s.Current())}
}

// settle: one change at a time, and none on a cluster that is not well.
func settle(s State) Step {
	current := s.Current()
	if wait := blocked(current); wait != nil {
		return wait
	}
	for _, m := range current {
		switch {
		case s.Formed() && !m.InMembership:
		case m.Learner:
			return Wait{Why: v1beta2.ReasonScaling, Message: "member " + m.Name + " is catching up"}
		case m.Pod == PodStarting:
			return Wait{Why: v1beta2.ReasonSettling, Message: "member " + m.Name + " is starting"}
		case !m.Serving || m.Pod != PodRunning || !m.PodReady:
			return Wait{Why: v1beta2.ReasonMemberDown, Message: "member " + m.Name + " does not serve: " + m.Unanswered}
		}
	}
	return nil
}

// blocked names the first Pod that cannot start, and why.
func blocked(members []Member) Step {
	for _, m := range members {
		if m.Pod == PodBlocked {
			return Wait{Why: m.PodReason, Message: "member " + m.Name + ": " + m.PodMessage, Stalled: true}
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
