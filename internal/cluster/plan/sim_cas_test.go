package plan_test

import (
	"fmt"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/model"
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
var during = map[string]func(*model.World){
	"nothing else": func(*model.World) {},
	"scaling":      func(w *model.World) { w.Cluster.Spec.Size += 2 },
	"an upgrade":   func(w *model.World) { w.Cluster.Spec.Version = "3.6.17" },
	"a replacement": func(w *model.World) {
		w.LoseVolume(0)
	},
	"a hibernation": func(w *model.World) { w.Cluster.Spec.Hibernate = true },
	"a restore": func(w *model.World) {
		w.Restores = []model.Restore{{UID: restoreUID, Verified: true, Revision: proven}}
	},
	"a recovery": func(w *model.World) {
		for pod := range w.Cluster.Spec.Size - 1 {
			w.LoseVolume(pod)
		}
		w.Cluster.Spec.Recovery = consent()
	},
	"a rotation": func(w *model.World) { w.RotateCA() },
}

// changesOfCAs are the ways in which a CA of TLS.managed changes.
var changesOfCAs = map[string]func(*model.World){
	"rotated":                            func(w *model.World) { w.RotateCA() },
	"expired":                            func(w *model.World) { w.ExpireCA() },
	"expired, and all connections ended": func(w *model.World) { w.ExpireCA(); w.CutAllPeers() },
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
func replaceInEachPass(t *testing.T, size, again int, begin, change func(*model.World)) {
	for passes, over := 0, false; !over && !t.Failed(); passes += 1 + again {
		for _, plain := range []bool{false, true} {
			w := model.New(size, true)
			w.Secure(true)
			w.PlainProbes = plain
			w.Run(plan.Plan)
			begin(w)
			over = goOn(w, passes)
			change(w)
			for range again {
				goOn(w, 3)
				w.RestartOperator()
				change(w)
			}
			w.Cluster.Spec.Hibernate = false
			o := w.Run(plan.Plan)
			if w.CheckLost(o); len(w.Violations) > 0 {
				t.Errorf("after %d passes, plain probes: %t: %s", passes, plain, w.Violations[0])
			}
		}
	}
}

// goOn does a number of passes. It reports whether nothing is left to do.
func goOn(w *model.World, passes int) bool {
	still := 0
	for range passes {
		w.Pass(plan.Plan)
		if still++; w.Second() {
			still = 0
		}
	}
	return still > 3 || passes > 60
}
