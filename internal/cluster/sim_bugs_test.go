package cluster_test

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster"
	"github.com/etcd-suite/etcd-operator/internal/cluster/model"
)

var noImage = condition{"no image", func(m *cluster.Member) {
	votes(m)
	has(m, cluster.PodBlocked)
	m.PodReason = v1beta2.ReasonImageUnavailable
}}

// TestPlantedBugsAreCaught plants a bug for each invariant in the rules, and shows that the simulation notices.
func TestPlantedBugsAreCaught(t *testing.T) {
	tests := map[string]struct {
		bug       cluster.Change
		size      int
		members   []condition
		durable   bool
		invariant string
	}{
		"1: a learner is added while another is": {
			bug: cluster.Before("scaleUp", "promote"), size: 5, members: []condition{ready, ready, ready, learner}, durable: true, invariant: "1",
		},
		"1: a member is removed while another is added": {
			bug:  cluster.Instead("replaceLost", removeAnyLost),
			size: 5, members: []condition{ready, ready, ready, lost, learnerStarting}, durable: true, invariant: "1",
		},
		"2: a member is stopped while another is down": {
			bug: cluster.Before("roll", "settle"), size: 4, members: []condition{ready, ready, outdatedReady, crashing}, durable: true, invariant: "2",
		},
		"2: a healthy member is removed where an unhealthy one should be": {
			bug:  cluster.Instead("scaleDown", removeAnyHealthy),
			size: 3, members: []condition{ready, ready, ready, crashing, crashing}, durable: true, invariant: "2",
		},
		"3: a formed cluster is bootstrapped again": {
			bug:  cluster.Instead("bootstrap", bootstrapAgain),
			size: 3, members: []condition{lost, lost, lost}, durable: true, invariant: "3",
		},
		"3: a member comes back under its old identity without its data": {
			bug:  cluster.Instead("startMember", startAnyhow),
			size: 3, members: []condition{ready, ready, lost}, durable: true, invariant: "3",
		},
		"4: a volume is deleted before the cluster is whole": {
			bug:  cluster.Before("deleteOldVolumes", "settle"),
			size: 3, members: []condition{ready, ready, unschedulable, removedVolume}, durable: true, invariant: "4",
		},
		"4: a Pod is deleted that holds the only copy of its data": {
			bug:  cluster.Instead("unblock", deleteBlocked),
			size: 3, members: []condition{ready, ready, noImage}, durable: false, invariant: "4",
		},
		"5: a member is added without quorum": {
			bug: cluster.Without("quorum"), size: 3, members: []condition{ready, lost, lost}, durable: true, invariant: "5",
		},
		"6: a learner never gets its vote": {
			bug: cluster.Without("promote"), size: 4, members: []condition{ready, ready, ready, learner}, durable: true, invariant: "6",
		},
		"6: a Pod is deleted and made again without end": {
			bug:  cluster.Instead("unblock", deleteBlocked),
			size: 3, members: []condition{ready, ready, noImage}, durable: true, invariant: "6",
		},
		"6: done is said too early": {
			bug: cluster.Without("scaleUp"), size: 3, members: []condition{ready, ready}, durable: true, invariant: "6",
		},
		"7: the leader is stopped before it handed over": {
			bug:  cluster.Instead("roll", rollAny),
			size: 3, members: []condition{outdatedReady, outdatedReady, outdatedReady}, durable: true, invariant: "7",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			sound := model.From(formed(test.size, test.durable, test.members))
			sound.Run(cluster.Plan)
			if len(sound.Violations) > 0 {
				t.Fatalf("without the bug: %v", sound.Violations)
			}
			w := model.From(formed(test.size, test.durable, test.members))
			w.Run(cluster.PlanWith(test.bug))
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

func removeAnyLost(s cluster.State) cluster.Step {
	for _, m := range s.Current() {
		if m.InMembership && !m.Learner && !s.HoldsData(m) {
			return cluster.RemoveMember{ID: m.ID, Name: m.Name, Replace: "it is lost"}
		}
	}
	return nil
}

func removeAnyHealthy(s cluster.State) cluster.Step {
	if len(s.Members) <= s.Spec.Size {
		return nil
	}
	for _, m := range s.Current() {
		if m.Serving && !m.Leader {
			return cluster.RemoveMember{ID: m.ID, Name: m.Name}
		}
	}
	return nil
}

func bootstrapAgain(s cluster.State) cluster.Step {
	if s.Voters().Healthy > 0 {
		return nil
	}
	return cluster.CreateMembers{Incarnation: 1, Size: s.Spec.Size}
}

func startAnyhow(s cluster.State) cluster.Step {
	for _, m := range s.Current() {
		if m.Pod == cluster.PodNone {
			return cluster.CreateMember{Name: m.Name, Incarnation: 1, Start: cluster.StartJoin}
		}
	}
	return nil
}

func deleteBlocked(s cluster.State) cluster.Step {
	for _, m := range s.Members {
		if m.Pod == cluster.PodBlocked {
			return cluster.DeletePod{Name: m.Name}
		}
	}
	return nil
}

func rollAny(s cluster.State) cluster.Step {
	for _, m := range s.Current() {
		if m.PodImage != s.Spec.Image() && m.Leader {
			return cluster.DeletePod{Name: m.Name, Why: v1beta2.ReasonUpgrading}
		}
	}
	return nil
}
