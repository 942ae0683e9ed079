package plan_test

import (
	"fmt"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
)

// TestRandomFaultsWhileCAsAreReplacedBreakNothing adds CAs of TLS.managed that are rotated, lost and expired to all other faults, and wrong clocks of nodes.
func TestRandomFaultsWhileCAsAreReplacedBreakNothing(t *testing.T) {
	t.Parallel()
	randomWorlds(t, randomSteps/5, worlds{managed: true})
}

// TestRandomFaultsWhileAUserReplacesCAsBreakNothing does so with Secrets that a user writes.
func TestRandomFaultsWhileAUserReplacesCAsBreakNothing(t *testing.T) {
	t.Parallel()
	randomWorlds(t, randomSteps/10, worlds{static: true})
}

// during are the procedures that a CA is replaced in.
var during = map[string]func(*world.World){
	"nothing else": func(*world.World) {},
	"scaling":      func(w *world.World) { w.Cluster.Spec.Size += 2 },
	"an upgrade":   func(w *world.World) { w.Cluster.Spec.Version = "3.6.17" },
	"a replacement": func(w *world.World) {
		fault.LoseVolume(w, 0)
	},
	"a hibernation": func(w *world.World) { w.Cluster.Spec.Hibernate = true },
	"a restore": func(w *world.World) {
		w.Restores = []world.Restore{{UID: restoreUID, Verified: true, Revision: proven}}
	},
	"a recovery": func(w *world.World) {
		for pod := range w.Cluster.Spec.Size - 1 {
			fault.LoseVolume(w, pod)
		}
		w.Cluster.Spec.Recovery = consent()
	},
	"a rotation": func(w *world.World) { fault.RotateCA(w) },
}

// changesOfCAs are the ways in which a CA of TLS.managed changes.
var changesOfCAs = map[string]func(*world.World){
	"rotated":                            func(w *world.World) { fault.RotateCA(w) },
	"expired":                            func(w *world.World) { fault.ExpireCA(w) },
	"expired, and all connections ended": func(w *world.World) { fault.ExpireCA(w); fault.CutAllPeers(w) },
}

// A CA changes after each pass of each procedure, and twice more a few seconds later. The operator restarts between. At the end the cluster is as its spec asks, and all members trust
// the present CA.
func TestEveryReplacementOfACASettles(t *testing.T) {
	t.Parallel()
	for procedure, begin := range during {
		for change, do := range changesOfCAs {
			for _, size := range []int{1, 3} {
				for _, again := range []int{0, 2} {
					t.Run(fmt.Sprintf("%s during %s, size %d, %d times more", change, procedure, size, again), func(t *testing.T) {
						replaceInEachPass(t, size, again, begin, do)
					})
				}
			}
		}
	}
}

// replaceInEachPass replaces the CA after a number of passes, for each number until the procedure is over.
func replaceInEachPass(t *testing.T, size, again int, begin, change func(*world.World)) {
	for passes, over := 0, false; !over && !t.Failed(); passes += 1 + again {
		for _, plain := range []bool{false, true} {
			w := world.New(size, true)
			w.Secure(true)
			w.PlainProbes = plain
			run.Run(w, plan.Plan)
			begin(w)
			over = goOn(w, passes)
			change(w)
			for range again {
				goOn(w, 3)
				fault.RestartOperator(w)
				change(w)
			}
			w.Cluster.Spec.Hibernate = false
			o := run.Run(w, plan.Plan)
			if run.CheckLost(w, o); len(w.Violations) > 0 {
				t.Errorf("after %d passes, plain probes: %t: %s", passes, plain, w.Violations[0])
			}
		}
	}
}

// goOn does a number of passes. It reports whether nothing is left to do.
func goOn(w *world.World, passes int) bool {
	still := 0
	for range passes {
		run.Pass(w, plan.Plan)
		if still++; effects.Second(w) {
			still = 0
		}
	}
	return still > 3 || passes > 60
}
