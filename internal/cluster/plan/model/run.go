package model

import (
	"errors"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Planner picks a step; plan.Plan is one.
type Planner func(state.State) steps.Step

// Pass is one pass of the operator: observe, plan, act, write the status. It returns the State that was seen and
// the step that was reported.
func (w *World) Pass(planner Planner) (state.State, steps.Step) {
	s := w.Observe()
	reported, err := w.PlanAndDo(&s, planner)
	w.Report(s, reported, err)
	return s, reported
}

// Do acts once. What etcd refuses for now is reported as waiting.
func (w *World) Do(s state.State, step steps.Step) (steps.Step, error) {
	err := w.Act(s, step)
	if errors.Is(err, etcd.ErrNotYet) {
		return plan.RefusedForNow(s, step, err.Error()), nil
	}
	return step, err
}

// Report writes the status.
func (w *World) Report(s state.State, step steps.Step, err error) {
	w.waiting.Saw(plan.Waits(s, step), s.Now)
	w.Cluster.Status = plan.NewStatus(s, step, err, w.Cluster.Status, w.Cluster.Generation)
	if l := w.formed(); l != nil {
		l.adopted = true
	}
	w.copyRestore()
	w.checkOneLife()
}

// copyRestore is what restore-operator does with the status.
func (w *World) copyRestore() {
	status := w.Cluster.Status.Restore
	for i := range w.Restores {
		if r := &w.Restores[i]; status != nil && r.UID == status.UID {
			r.Complete = r.Complete || status.Step == v1beta2.RestoreComplete
			r.Failed = r.Failed || status.Step == v1beta2.RestoreFailed
		}
	}
}

// Outcome of a run.
type Outcome struct {
	// Steps that were taken; waits are not among them.
	Steps []steps.Step
	// Passes that it took.
	Passes int
	// Last is Done, a Wait or Idle.
	Last steps.Step
	// Settled is false when the run had to be cut short.
	Settled bool
}

const (
	// maxPasses bounds a run: from nothing to seven members by way of a restore takes fewer than a hundred.
	maxPasses = 400
	// patience is how many passes in which nothing moves are enough to say that nothing will. Each takes 150 s, so a wait lasts
	// longer than the 15 minutes after which the operator gives up a seed.
	patience = 6
)

// Run lets operator and world go on by themselves until the cluster is done or nothing moves any more. Without
// chance in the world, each start has one run.
func (w *World) Run(planner Planner) Outcome {
	var o Outcome
	still := 0
	for o.Passes = 1; o.Passes <= maxPasses; o.Passes++ {
		_, step := w.Pass(planner)
		o.Last = step
		waits := false
		switch step.(type) {
		case steps.Wait, steps.Idle, steps.Done, steps.Hibernating, steps.AwaitResize, steps.VolumeMayFill, steps.Advice:
			waits = true
		default:
			o.Steps = append(o.Steps, step)
		}
		moved := w.Tick()
		if moved || !waits {
			still = 0
			continue
		}
		still++
		if enough(step, still) && (still > patience || !w.rotates()) {
			o.Settled = true
			break
		}
		if len(w.Violations) > 0 {
			break
		}
	}
	w.checkEnd(o)
	return o
}

// enough: done is done at once; a wait may yet turn into something, also one that asks for a person.
func enough(step steps.Step, still int) bool {
	switch step.(type) {
	case steps.Done, steps.Hibernating, steps.VolumeMayFill, steps.Advice:
		return true
	}
	return still > patience
}

// checkEnd holds the end of a run against invariant 6: done, or a state that says what a person must do.
func (w *World) checkEnd(o Outcome) {
	if len(w.Violations) > 0 {
		return
	}
	switch last := o.Last.(type) {
	case steps.Done, steps.VolumeMayFill, steps.Advice:
		w.CheckDone()
		return
	case steps.Hibernating:
		w.checkAsleep()
		return
	case steps.Idle:
		return
	case steps.Wait:
		if l := w.formed(); l != nil && last.Reason == v1beta2.ReasonQuorumLost && w.couldHaveQuorum(l) && !w.anyHung() && !w.forUserOfTLS(last) && !w.misrecorded(l) {
			w.violate(EveryRunSettles, "QuorumLost is reported, but quorum is not lost: %s", last.Message)
		}
		if o.Settled && (w.restartsByHand(last) || w.forUserOfTLS(last) || last.Stalled && last.Reason != v1beta2.ReasonWaitTooLong || last.Reason == v1beta2.ReasonWaitingForRestore) {
			return
		}
	}
	w.violate(EveryRunSettles, "after %d passes the last step is %T %+v", o.Passes, o.Last, o.Last)
}

func (w *World) anyHung() bool {
	if l := w.formed(); l != nil && foreigners(l) > 0 {
		return true // the operator cannot see whether they run
	}
	return slices.ContainsFunc(w.pods, func(p pod) bool { return p.hung || p.deaf || p.cutOff })
}
