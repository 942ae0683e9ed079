package explore

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/check"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// checkState checks what must be true in each state, whatever step was done last.
func checkState(w *world.World) {
	if len(w.Violations) > 0 {
		return
	}
	check.OneLife(w)
	for i := range w.Incarnations {
		if l := &w.Incarnations[i]; l.Leader != 0 && len(l.Fences) == 0 && raft.HasClients(w, l) {
			raft.CheckReplacedIsSilent(w, l)
		}
	}
}

// checkStill checks a state in which nothing happens any more before a deadline passes. After the last deadline, nothing ever will.
func (x *Exploration) checkStill(n node, step steps.Step, forGood bool) {
	ends := ended(step) && (forGood || !run.Rotates(n.world))
	wait, _ := step.(steps.Wait)
	lasts := wait.Stalled && faultLasts(n.world) // then a wait may be too long, and the status says what to do
	x.met[n.id].settled = ends || lasts
	if !ends && (!forGood || lasts) {
		return
	}
	w := n.world.Clone()
	run.CheckEnd(w, run.Outcome{Last: step, Settled: true})
	if len(w.Violations) > 0 {
		x.found(n.id, "nothing happens any more", w.Violations[0])
	}
}

// faultLasts reports whether a member is silent, hidden or on a node that is cut off.
func faultLasts(w *world.World) bool {
	return slices.ContainsFunc(w.Pods, func(p world.Pod) bool { return p.Hung || p.Deaf || p.Stuck || p.CutOff })
}

// ended reports whether a run may end with a step.
func ended(step steps.Step) bool {
	switch step := step.(type) {
	case steps.Done, steps.Idle, steps.Hibernating, steps.VolumeMayFill, steps.Advice:
		return true
	case steps.Wait:
		return step.Stalled && step.Reason != v1beta2.ReasonWaitTooLong || step.Reason == v1beta2.ReasonWaitingForRestore
	}
	return false
}
