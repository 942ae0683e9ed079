package plan_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// exactly: an EtcdRestore with safetySnapshot: Exact begins.
func exactly(saver world.Saver) *world.World {
	w := restoreBegins(3)
	w.Restores[0].Exact, w.Restores[0].Saver = true, saver
	return w
}

// If the seed took over without the snapshot, writes would be lost that a person asked to keep. If it waited without an end for a store that
// refuses it, or for a restore-operator that does not run, clients could not write until somebody sees it.
func TestAnExactRestoreSavesAllOrEndsAndLetsClientsWrite(t *testing.T) {
	for name, test := range map[string]struct {
		saver world.Saver
		ends  v1beta2.RestoreStep
	}{
		"saved":                         {world.SaverGood, v1beta2.RestoreComplete},
		"the store refuses it":          {world.SaverRefused, v1beta2.RestoreFailed},
		"restore-operator does not run": {world.SaverAbsent, v1beta2.RestoreFailed},
	} {
		t.Run(name, func(t *testing.T) {
			w := exactly(test.saver)
			o := run.Run(w, plan.Plan)
			if !o.Settled || len(w.Violations) > 0 || w.Cluster.Status.Restore.Step != test.ends {
				t.Errorf("it ends with %+v, %q and %+v", w.Cluster.Status.Restore, w.Violations, o.Last)
			}
			if _, done := o.Last.(steps.Done); !done {
				t.Errorf("the members do not serve all that clients ask: %T %+v", o.Last, o.Last)
			}
		})
	}
	t.Run("the check can fail", func(t *testing.T) {
		w := exactly(world.SaverGood)
		run.Run(w, func(s state.State) steps.Step {
			step := plan.Plan(s)
			if _, asks := step.(steps.AwaitSafetySnapshot); asks {
				return steps.AdoptSeed{ClusterID: s.Restore.ClusterID, Incarnation: s.Restore.Incarnation}
			}
			return step
		})
		if len(w.Violations) == 0 {
			t.Error("a seed that takes over without the snapshot breaks no invariant")
		}
	})
}
