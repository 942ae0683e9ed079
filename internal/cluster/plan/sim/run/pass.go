package run

import (
	"errors"
	"reflect"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/act"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/check"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Planner picks a step; plan.Plan is one.
type Planner func(state.State) steps.Step

// Pass is one pass of the operator: observe, plan, act, write the status. It returns the State that was seen and
// the step that was reported.
func Pass(w *world.World, planner Planner) (state.State, steps.Step) {
	s := observe.Observe(w)
	reported, err := PlanAndDo(w, &s, planner)
	Report(w, s, reported, err)
	return s, reported
}

// Do acts once. What etcd refuses for now is reported as waiting.
func Do(w *world.World, s state.State, step steps.Step) (steps.Step, error) {
	err := act.Act(w, s, step)
	if errors.Is(err, etcd.ErrNotYet) {
		return plan.RefusedForNow(s, step, err.Error()), nil
	}
	return step, err
}

// Report writes the status.
func Report(w *world.World, s state.State, step steps.Step, err error) {
	w.Waiting.Saw(plan.Waits(s, step), s.Now)
	w.Cluster.Status = plan.NewStatus(s, step, err, w.Cluster.Status, w.Cluster.Generation)
	if l := w.Formed(); l != nil {
		l.Adopted = true
	}
	copyRestore(w)
	check.OneLife(w)
}

// copyRestore is what restore-operator does with the status.
func copyRestore(w *world.World) {
	status := w.Cluster.Status.Restore
	for i := range w.Restores {
		if r := &w.Restores[i]; status != nil && r.UID == status.UID {
			r.Complete = r.Complete || status.Step == v1beta2.RestoreComplete
			r.Failed = r.Failed || status.Step == v1beta2.RestoreFailed
		}
	}
}

// SlowPass is a pass in which no member answers in time.
func SlowPass(w *world.World, planner Planner) {
	w.TLS.Slow = true
	Pass(w, planner)
	w.TLS.Slow = false
}

// PlanAndDo acts. If etcd or the API server refuses a step, the plan is asked again without it, as the operator does.
func PlanAndDo(w *world.World, s *state.State, planner Planner) (steps.Step, error) {
	skipped := false
	for refused := steps.Step(nil); ; {
		step := planner(*s)
		if refused != nil && reflect.DeepEqual(step, refused) { // this planner does not know of waits
			return plan.RefusedForNow(*s, step, "not yet"), nil
		}
		check.Step(w, step)
		err := act.Act(w, *s, step)
		s.FencedAt, w.FencedAt = max(s.FencedAt, w.FencedAt), 0
		switch {
		case errors.Is(err, etcd.ErrNotYet):
			plan.Obstruct(s, step, plan.RefusedForNow(*s, step, err.Error()))
		case !errors.Is(err, act.ErrDenied) && skipped && !steps.Acts(step):
			return denied(), err
		case !errors.Is(err, act.ErrDenied):
			return step, err
		case independent(*s, step):
			skipped = true
			plan.Refuse(s, step)
		default:
			instead := insteadOf(s, step)
			wait, waits := instead.(steps.Wait)
			if !waits {
				return instead, nil
			}
			plan.Obstruct(s, step, wait)
		}
		refused = step
	}
}

// independent reports whether the plan goes on without a step that is denied.
func independent(s state.State, step steps.Step) bool {
	_, rule := plan.Choose(s)
	return plan.Independent(s, rule, step)
}

// insteadOf is what the operator does instead of a step that is denied.
func insteadOf(s *state.State, step steps.Step) steps.Step {
	if create, is := step.(steps.CreateMember); is && restore.IsSeed(*s, create.Name) {
		return restore.RefuseSeed(s, act.ErrDenied.Error(), 30*time.Second)
	}
	return denied()
}

func denied() steps.Wait {
	return steps.Wait{Reason: v1beta2.ReasonObjectRefused, Message: act.ErrDenied.Error(), Stalled: true}
}
