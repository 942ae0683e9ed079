package plan_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// If the operator cannot read a cluster that serves, it changes nothing and reports that. When it can read it again, it continues.
func TestAClusterThatTheOperatorCannotAskIsLeftAlone(t *testing.T) {
	for name, test := range map[string]struct {
		shut   func(*world.World)
		reason string
	}{
		"authentication":  {func(w *world.World) { w.AuthOn = true }, v1beta2.ReasonEtcdAccessDenied},
		"a NetworkPolicy": {func(w *world.World) { w.CutOff = true }, v1beta2.ReasonMembersUnreachable},
	} {
		for _, durable := range []bool{true, false} {
			w := world.New(3, durable)
			run.Run(w, plan.Plan)
			test.shut(w)
			w.Cluster.Spec.Size = 5
			stepCount, _, last := changesIn(w, time.Hour)
			if wait, is := last.(steps.Wait); stepCount > 1 || !is || wait.Reason != test.reason { // one step for the budget
				t.Errorf("%s (volumes: %t): %d steps, then %+v", name, durable, stepCount, last)
			}
			fault.Repair(w)
			if o := run.Run(w, plan.Plan); o.Last != steps.Step(steps.Done{}) || len(w.Violations) > 0 {
				t.Errorf("%s (volumes: %t): afterwards %+v, %v", name, durable, o.Last, w.Violations)
			}
		}
	}
}

func TestAMemberWhosePersistentVolumeIsDeletedIsReplaced(t *testing.T) {
	w := world.New(3, true)
	run.Run(w, plan.Plan)
	fault.LoseVolume(w, 0)
	if o := run.Run(w, plan.Plan); o.Last != steps.Step(steps.Done{}) || len(w.Violations) > 0 {
		t.Errorf("it ends with %+v, %v\n%s", o.Last, w.Violations, trace(o))
	}
}

// TestRandomFaultsWithoutAccessBreakNothing adds authentication, a NetworkPolicy and lost volumes to all other faults.
func TestRandomFaultsWithoutAccessBreakNothing(t *testing.T) {
	t.Parallel()
	randomWorlds(t, randomSteps/10, worlds{estranged: true})
}
