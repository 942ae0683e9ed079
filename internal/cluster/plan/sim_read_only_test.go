package plan_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// readOnlyWorld is a cluster of three that is read-only, and a restore of it that is verified.
func readOnlyWorld(planner run.Planner) (*world.World, run.Outcome) {
	w := world.New(3, true)
	run.Run(w, plan.Plan)
	w.Cluster.Spec.ReadOnly = true
	run.Run(w, planner)
	w.Restores = []world.Restore{{UID: restoreUID, Verified: true, Revision: proven}}
	return w, run.Run(w, planner)
}

// Without this, a read-only cluster takes writes once it is restored, or refuses them after its spec allows them.
func TestAReadOnlyClusterStaysReadOnlyThroughARestore(t *testing.T) {
	w, o := readOnlyWorld(plan.Plan)
	if _, settled := o.Last.(steps.Advice); !settled || len(w.Violations) > 0 {
		t.Fatalf("it ends with %+v, %v\n%s", o.Last, w.Violations, trace(o))
	}
	w.Cluster.Spec.ReadOnly = false
	if o := run.Run(w, plan.Plan); o.Last != steps.Step(steps.Done{}) || len(w.Violations) > 0 {
		t.Errorf("writable again, it ends with %+v, %v\n%s", o.Last, w.Violations, trace(o))
	}
}

// Each of these bugs takes writes of a read-only cluster, or refuses those of another one.
func TestBugsOfReadOnlyClustersAreCaught(t *testing.T) {
	for name, bug := range map[string]run.Planner{
		"writes are never refused": plan.PlanWith(plan.Without("refuseWrites")),
		"the seed takes writes": func(s state.State) steps.Step {
			step := plan.Plan(s)
			if fence, is := step.(steps.FenceWrites); is && fence.Seed != "" {
				return steps.AdoptSeed{ClusterID: s.Restore.ClusterID, Incarnation: s.Restore.Incarnation}
			}
			return step
		},
	} {
		if w, o := readOnlyWorld(bug); len(w.Violations) == 0 {
			t.Errorf("%s: it is not caught, and ends with %+v\n%s", name, o.Last, trace(o))
		}
	}
	w := world.New(1, true)
	run.Run(w, plan.Plan)
	w.Cluster.Spec.ReadOnly = true
	run.Run(w, plan.Plan)
	w.Cluster.Spec.ReadOnly = false
	if o := run.Run(w, plan.PlanWith(plan.Without("takeFenceBack"))); len(w.Violations) == 0 {
		t.Errorf("a fence that is never taken back is not caught, and it ends with %+v\n%s", o.Last, trace(o))
	}
}
