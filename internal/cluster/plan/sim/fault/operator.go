package fault

import (
	"math/rand/v2"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/repair"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

func restartOperator(w *world.World, _ *rand.Rand) string {
	RestartOperator(w)
	return "restart the operator"
}

// RestartOperator has another process of the operator continue, which has seen nothing.
func RestartOperator(w *world.World) {
	Forget(w)
	w.SeenClocks = &clock.Seen{}
}

// Forget is what an operator that ends loses.
func Forget(w *world.World) {
	w.Waiting = state.Waiting{}
	if w.TLS != nil {
		w.TLS.Silence = repair.Silence{}
	}
}

// clockFaults set the clock of the operator's node. The API server and the kubelets have the right time.
var clockFaults = []fault{jumpClock, jumpClock, correctClock}

// jumps of a clock, in both directions.
var jumps = []time.Duration{
	2 * time.Minute, 10 * time.Minute, 25 * time.Hour, 400 * 24 * time.Hour,
	-2 * time.Minute, -10 * time.Minute, -25 * time.Hour, -400 * 24 * time.Hour,
}

func jumpClock(w *world.World, r *rand.Rand) string {
	setClock(w, jumps[r.IntN(len(jumps))])
	return "the operator's clock is wrong by " + w.Wrong.String()
}

func correctClock(w *world.World, _ *rand.Rand) string {
	if w.Wrong == 0 {
		return ""
	}
	setClock(w, 0)
	return "the operator's clock is right again"
}

// setClock sets the clock of the operator. What it has seen before stays as long ago as it is.
func setClock(w *world.World, wrong time.Duration) {
	if w.Wrong != wrong {
		w.SeenClocks.Shift(wrong - w.Wrong)
	}
	w.Wrong = wrong
}
