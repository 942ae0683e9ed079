package plan_test

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

var noImage = condition{"no image", func(m *state.Member) {
	votes(m)
	has(m, state.PodBlocked)
	m.PodReason = v1beta2.ReasonImageUnavailable
}}

// TestPlantedBugsAreCaught plants bugs in the rules, each against one invariant, and shows that the simulation detects them.
func TestPlantedBugsAreCaught(t *testing.T) {
	tests := map[string]struct {
		bug     plan.Change
		size    int
		members []condition
		durable bool
		// consent to continue from one survivor; lag: a member with a later name has a lower Raft index.
		consent, lag bool
		version      string
		invariant    string
		hibernate    bool
	}{
		"1: a learner is added while there is another one": {
			bug: plan.Before("scaleUp", "promoteLearner"), size: 5, members: []condition{ready, ready, ready, learner}, durable: true, invariant: "1",
		},
		"1: a member is removed while another is added": {
			bug:  plan.Instead("replaceLost", removeAnyLost),
			size: 5, members: []condition{ready, ready, ready, lost, learnerStarting}, durable: true, invariant: "1",
		},
		"2: a member is stopped while another is down": {
			bug: plan.Before("rollMembers", "waitUntilHealthy"), size: 4, members: []condition{ready, ready, outdatedReady, crashing}, durable: true, invariant: "2",
		},
		"2: a healthy member is removed instead of an unhealthy one": {
			bug:  plan.Instead("scaleDown", removeAnyHealthy),
			size: 3, members: []condition{ready, ready, ready, crashing, crashing}, durable: true, invariant: "2",
		},
		"3: a formed cluster is bootstrapped again": {
			bug:  plan.Instead("bootstrap", bootstrapAgain),
			size: 3, members: []condition{lost, lost, lost}, durable: true, invariant: "3",
		},
		"3: a member restarts under its old identity without its data": {
			bug:  plan.Instead("startMember", startAnyhow),
			size: 3, members: []condition{ready, ready, lost}, durable: true, invariant: "3",
		},
		"4: a volume is deleted before the cluster is healthy": {
			bug:  plan.Before("deleteOldVolumes", "waitUntilHealthy"),
			size: 3, members: []condition{ready, ready, unschedulable, removedVolume}, durable: true, invariant: "4",
		},
		"4: a Pod with the only copy of its data is deleted": {
			bug:  plan.Instead("recreateBlocked", deleteBlocked),
			size: 3, members: []condition{ready, ready, noImage}, durable: false, invariant: "4",
		},
		"5: a member is added without quorum": {
			bug: plan.Without("waitForQuorum"), size: 3, members: []condition{ready, lost, lost}, durable: true, invariant: "5",
		},
		"5: a survivor continues alone without consent": {
			bug: plan.Instead("waitForQuorum", forceAnyhow), size: 3, members: []condition{hung, lost, lost}, durable: true, invariant: "5",
		},
		"5: a survivor continues alone although a quorum has its data": {
			bug: plan.Instead("waitForQuorum", forceAnyhow), consent: true, size: 3, members: []condition{missing, crashing, crashing}, durable: true, invariant: "5",
		},
		"5: a survivor continues alone while other members run": {
			bug: plan.Instead("forceNewCluster", forceUnfenced), consent: true, size: 5, members: []condition{missing, missing, lost, lost, lost}, durable: true, invariant: "5",
		},
		"4: the cluster continues from the survivor with the lower Raft index": {
			bug: plan.Instead("waitForQuorum", forceLast), consent: true, size: 5, members: []condition{missing, missing, lost, lost, lost}, durable: true, invariant: "4", lag: true,
		},
		"6: the flag is never removed": {
			bug: plan.Instead("forceNewCluster", forceForever), consent: true, size: 3, members: []condition{missing, lost, lost}, durable: true, invariant: "6",
		},
		"3: the Pod of a member that may still vote is force-deleted": {
			bug: plan.Before("waitForRemovedPods", "applyBudget").Then(plan.Instead("waitForRemovedPods", forgetAny)), size: 3, members: []condition{ready, ready, deleting}, durable: true, invariant: "3",
		},
		"3: the object of a Pod that may run is deleted": {
			bug: plan.Before("deleteStopped", "applyBudget").Then(plan.Instead("deleteStopped", forgetRunning)), size: 3, members: []condition{ready, ready, deleting}, durable: true, invariant: "3",
		},
		"6: a learner is never promoted": {
			bug: plan.Without("promoteLearner"), size: 4, members: []condition{ready, ready, ready, learner}, durable: true, invariant: "6",
		},
		"6: a Pod is recreated without end": {
			bug:  plan.Instead("recreateBlocked", deleteBlocked),
			size: 3, members: []condition{ready, ready, noImage}, durable: true, invariant: "6",
		},
		"6: Done is returned before the cluster has its size": {
			bug: plan.Without("scaleUp"), size: 3, members: []condition{ready, ready}, durable: true, invariant: "6",
		},
		"7: the leader is stopped first for a hibernation": {
			bug:  plan.Instead("hibernate", sleepAny),
			size: 3, members: []condition{ready, ready, ready}, durable: true, invariant: "7", hibernate: true,
		},
		"6: a hibernation is reported while the members run": {
			bug:  plan.Instead("hibernate", sayAsleep),
			size: 3, members: []condition{ready, ready, ready}, durable: true, invariant: "6", hibernate: true,
		},
		"6: Done is returned while drains may take quorum": {
			bug:  plan.Instead("applyBudget", allowAll),
			size: 3, members: []condition{ready, ready, ready}, durable: true, invariant: "6",
		},
		"8: a member is started on a version that cannot read its raft log": {
			bug:  plan.Instead("prepareVersionChange", readyAtOnce),
			size: 3, members: []condition{ready, ready, ready}, durable: true, version: "3.7.3", invariant: "8",
		},
		"8: a member joins on a version that cannot read the leader's raft log": {
			bug:  plan.Instead("prepareVersionChange", readyAtOnce),
			size: 3, members: []condition{ready, ready, ready}, durable: false, version: "3.7.3", invariant: "8",
		},
		"4: a member with its data in its Pod is removed before another one has replaced it": {
			bug:  plan.Before("scaleDown", "recreateBlocked").Then(plan.Instead("scaleDown", removeStale)),
			size: 3, members: []condition{outdatedReady, outdatedReady, outdatedReady}, durable: false, invariant: "4",
		},
		"4: the Pod of a member is recreated although its data is in the Pod": {
			bug:  plan.Before("rollMembers", "recreateBlocked").Then(plan.Instead("rollMembers", stopStale)),
			size: 3, members: []condition{outdatedReady, outdatedReady, outdatedReady}, durable: false, invariant: "4",
		},
		"7: leadership moves before the others are replaced": {
			bug:  plan.Instead("scaleDown", moveFirst),
			size: 3, members: []condition{outdatedReady, outdatedReady, outdatedReady}, durable: false, invariant: "7",
		},
		"7: leadership moves before the others are rolled": {
			bug:  plan.Instead("rollMembers", moveAny),
			size: 3, members: []condition{outdatedReady, outdatedReady, outdatedReady}, durable: true, invariant: "7",
		},
		"7: the leader is stopped before it handed over": {
			bug:  plan.Instead("rollMembers", rollAny),
			size: 3, members: []condition{outdatedReady, outdatedReady, outdatedReady}, durable: true, invariant: "7",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			start := func() *world.World {
				s := formed(test.size, test.durable, test.members)
				if test.consent {
					s.Spec.Recovery = consent()
				}
				if test.version != "" {
					s.Spec.Version = test.version
				}
				s.Spec.Hibernate = test.hibernate
				for i := range s.Members {
					s.Members[i].Leader = test.hibernate && i == 0
				}
				w := observe.From(s)
				if test.lag {
					fault.Lag(w)
				}
				return w
			}
			sound := start()
			run.Run(sound, plan.Plan)
			if len(sound.Violations) > 0 {
				t.Fatalf("without the bug: %v", sound.Violations)
			}
			w := start()
			run.Run(w, plan.PlanWith(test.bug))
			caught := false
			for _, v := range w.Violations {
				caught = caught || strings.HasPrefix(v, "invariant "+test.invariant)
			}
			if !caught {
				t.Errorf("the bug is not caught: %v", w.Violations)
			}
		})
	}
}

func removeAnyLost(s state.State) steps.Step {
	for _, m := range s.Current() {
		if m.InMembership && !m.Learner && !s.HoldsData(m) {
			return steps.RemoveMember{ID: m.ID, Name: m.Name, Cause: "it is lost"}
		}
	}
	return nil
}

func removeAnyHealthy(s state.State) steps.Step {
	if len(s.Members) <= s.Spec.Size {
		return nil
	}
	for _, m := range s.Current() {
		if m.Serving && !m.Leader {
			return steps.RemoveMember{ID: m.ID, Name: m.Name}
		}
	}
	return nil
}

func readyAtOnce(s state.State) steps.Step {
	if s.VersionChange != nil {
		return nil
	}
	return steps.RecordVersionChange{To: "3.7", Step: v1beta2.VersionChangeReady}
}

func bootstrapAgain(s state.State) steps.Step {
	if s.Voters().Healthy > 0 {
		return nil
	}
	return steps.CreateMembers{Incarnation: 1, Size: s.Spec.Size}
}

func startAnyhow(s state.State) steps.Step {
	for _, m := range s.Current() {
		if m.Pod == state.PodNone {
			return steps.CreateMember{Name: m.Name, Incarnation: 1, Start: state.StartJoin}
		}
	}
	return nil
}

func deleteBlocked(s state.State) steps.Step {
	for _, m := range s.Members {
		if m.Pod == state.PodBlocked {
			return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonRolling}
		}
	}
	return nil
}

func rollAny(s state.State) steps.Step {
	for _, m := range s.Current() {
		if m.PodImage != s.Spec.Image() && m.Leader {
			return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonUpgrading}
		}
	}
	return nil
}

// moveAny restarts the first stale member. If that member leads, it moves leadership first.
func moveAny(s state.State) steps.Step {
	members := s.Current()
	for i, m := range members {
		switch {
		case !isStale(s, m):
		case m.Leader:
			to := members[(i+1)%len(members)]
			return steps.MoveLeader{From: m.Name, To: to.ID, Name: to.Name}
		default:
			return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonUpgrading}
		}
	}
	return nil
}

func consent() *v1beta2.RecoveryPolicy {
	return &v1beta2.RecoveryPolicy{QuorumLoss: v1beta2.QuorumLossForceNewCluster}
}

// forceAnyhow checks neither the consent nor which members have data.
func forceAnyhow(s state.State) steps.Step {
	if s.MembershipKnown || s.Recovery != nil {
		return nil
	}
	return steps.BeginRecovery{Member: s.Members[0].Name}
}

// forceLast chooses the survivor with the last name.
func forceLast(s state.State) steps.Step {
	if s.MembershipKnown || s.Recovery != nil {
		return nil
	}
	last := ""
	for _, m := range s.Members {
		if s.HoldsData(m) {
			last = m.Name
		}
	}
	return steps.BeginRecovery{Member: last}
}

// forceUnfenced stops only the survivor.
func forceUnfenced(s state.State) steps.Step {
	if s.Recovery == nil || s.Recovery.Step != v1beta2.RecoveryForcing || s.MembershipKnown {
		return nil
	}
	for _, m := range s.Members {
		switch {
		case m.Name != s.Recovery.Member:
		case m.Pod == state.PodNone:
			return steps.CreateMember{Name: m.Name, Incarnation: 1, Start: state.StartForce}
		case m.Start != state.StartForce:
			return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonRecovering}
		}
	}
	return nil
}

// forceForever records that the survivor serves alone, and never removes the flag from its Pod.
func forceForever(s state.State) steps.Step {
	if s.Recovery == nil || s.Recovery.Step != v1beta2.RecoveryForcing {
		return nil
	}
	if s.MembershipKnown {
		return steps.RecordForced{}
	}
	return forceUnfenced(s)
}

func forgetAny(s state.State) steps.Step {
	for _, m := range s.Members {
		if m.Pod == state.PodDeleting {
			return steps.ForceDeletePod{Name: m.Name}
		}
	}
	return nil
}

// forgetRunning does not wait until the kubelet has confirmed that the containers have ended.
func forgetRunning(s state.State) steps.Step {
	for _, m := range s.Members {
		if m.Pod == state.PodDeleting {
			return steps.ForceDeletePod{Name: m.Name, Stopped: true}
		}
	}
	return nil
}

func sleepAny(s state.State) steps.Step {
	for _, m := range s.Members {
		if m.Pod == state.PodRunning {
			return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonHibernating}
		}
	}
	return steps.Hibernating{}
}

func sayAsleep(state.State) steps.Step { return steps.Hibernating{} }

func allowAll(s state.State) steps.Step {
	if s.Budget.Exists {
		return nil
	}
	return steps.ApplyBudget{Incarnation: s.Incarnation}
}

// isStale reports whether a member runs another image than the spec asks for.
func isStale(s state.State, m state.Member) bool {
	return m.InMembership && m.PodImage != s.Spec.Image()
}

func removeStale(s state.State) steps.Step {
	for _, m := range s.Current() {
		if isStale(s, m) && !m.Leader {
			return steps.RemoveMember{ID: m.ID, Name: m.Name, Cause: "it is stale"}
		}
	}
	return nil
}

func stopStale(s state.State) steps.Step {
	for _, m := range s.Current() {
		if isStale(s, m) && !m.Leader {
			return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonRolling}
		}
	}
	return nil
}

// moveFirst moves leadership as soon as one new member can lead.
func moveFirst(s state.State) steps.Step {
	if len(s.Members) <= s.Spec.Size {
		return nil
	}
	for _, from := range s.Current() {
		for _, to := range s.Current() {
			if from.Leader && isStale(s, from) && to.Serving && !isStale(s, to) {
				return steps.MoveLeader{From: from.Name, To: to.ID, Name: to.Name}
			}
		}
	}
	return nil
}
