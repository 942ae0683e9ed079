package plan_test

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// TestRandomFaultsOfVolumesBreakNothing adds to all other faults: volumes that are lost and come back, claims that persons create again from older
// copies, and containers that restart in their Pods on the same volume or on an empty one.
func TestRandomFaultsOfVolumesBreakNothing(t *testing.T) {
	t.Parallel()
	randomWorlds(t, randomSteps/5, worlds{volatile: true})
}

// All PersistentVolumes of a cluster were deleted. Its members run, and hibernation would have stopped the last copies of all data.
func TestAClusterThatLostItsVolumesHibernatesWithItsData(t *testing.T) {
	for _, size := range []int{1, 3} {
		w := world.New(size, true)
		run.Run(w, plan.Plan)
		fault.LoseDisks(w)
		w.Cluster.Spec.Hibernate = true
		if o := run.Run(w, plan.Plan); len(w.Violations) > 0 {
			t.Errorf("size %d: %v\n%s", size, w.Violations, trace(o))
		} else if _, is := o.Last.(steps.Hibernating); !is {
			t.Errorf("size %d: it ends with %+v", size, o.Last)
		}
		w.Cluster.Spec.Hibernate = false
		if o := run.Run(w, plan.Plan); o.Last != steps.Step(steps.Done{}) || len(w.Violations) > 0 {
			t.Errorf("size %d: afterwards %+v, %v", size, o.Last, w.Violations)
		}
	}
}

// TestBugsWithVolumesAreCaught plants bugs in worlds whose volumes are volatile. Each must be found in some world.
func TestBugsWithVolumesAreCaught(t *testing.T) {
	for name, bug := range map[string]struct {
		change    plan.Change
		invariant string
	}{
		"a member that has started may start empty": {plan.Without("forbidEmptyStart"), "invariant 3"},
		"a member starts on a copy":                 {plan.Instead("startMember", startOnAnything), "invariant 3"},
		"hibernation stops the only copy":           {plan.Instead("hibernate", sleepAny), "invariant 4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			planner := plan.PlanWith(bug.change)
			for number := range uint64(400) {
				w, _, _ := live(func(s state.State) steps.Step {
					if !s.Spec.Hibernate && strings.HasPrefix(name, "hibernation") {
						return plan.Plan(s)
					}
					return planner(s)
				}, 1, number, worlds{volatile: true})
				if len(w.Violations) > 0 && strings.HasPrefix(w.Violations[0], bug.invariant) {
					return
				}
			}
			t.Error("no world finds it")
		})
	}
}

// startOnAnything starts a member on the claim that has its name.
func startOnAnything(s state.State) steps.Step {
	for _, m := range s.Current() {
		if s.Formed() && m.Pod == state.PodNone && m.Volume == state.VolumePresent && !m.VolumeUnused {
			return steps.CreateMember{Name: m.Name, Incarnation: m.Incarnation, Start: state.StartJoin}
		}
	}
	return nil
}
