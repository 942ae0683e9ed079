// Package run is the operator in a simulated world: its passes, with an old cache or without, until the cluster is done or a person must act.
package run

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// Run lets operator and world go on by themselves until the cluster is done or nothing moves any more. Without
// chance in the world, each start has one run.
func Run(w *world.World, planner Planner) Outcome {
	var o Outcome
	still := 0
	for o.Passes = 1; o.Passes <= maxPasses; o.Passes++ {
		_, step := Pass(w, planner)
		o.Last = step
		waits := false
		switch step.(type) {
		case steps.Wait, steps.Idle, steps.Done, steps.Hibernating, steps.AwaitResize, steps.VolumeMayFill, steps.Advice:
			waits = true
		default:
			o.Steps = append(o.Steps, step)
		}
		moved := effects.Tick(w)
		if moved || !waits {
			still = 0
			continue
		}
		still++
		if enough(step, still) && (still > patience || !Rotates(w)) {
			o.Settled = true
			break
		}
		if len(w.Violations) > 0 {
			break
		}
	}
	CheckEnd(w, o)
	return o
}

const (
	// maxPasses bounds a run: from nothing to seven members by way of a restore takes fewer than a hundred.
	maxPasses = 400
	// patience is how many passes in which nothing moves are enough to say that nothing will. Each takes 150 s, so a wait lasts
	// longer than the 15 minutes after which the operator gives up a seed.
	patience = 6
)

// enough: done is done at once; a wait may yet turn into something, also one that asks for a person.
func enough(step steps.Step, still int) bool {
	switch step.(type) {
	case steps.Done, steps.Hibernating, steps.VolumeMayFill, steps.Advice:
		return true
	}
	return still > patience
}
