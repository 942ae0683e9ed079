package model

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// What etcd and the API server refuse for as long as nobody changes it.

// Kinds of objects that an admission policy denies.
const (
	Pods    = "Pod"
	Claims  = "PersistentVolumeClaim"
	Service = "Service"
	Budgets = "PodDisruptionBudget"
)

// Kinds are all of them.
var Kinds = []string{Pods, Claims, Service, Budgets}

// errDenied is the answer of an admission policy.
var errDenied = errors.New("denied request: the label team is missing")

// refusalFaults are added to all others in a world that refuses.
var refusalFaults = []fault{toggleEtcdRefuses, deny, deny, allow}

func toggleEtcdRefuses(w *World, _ *rand.Rand) string {
	w.EtcdRefuses = !w.EtcdRefuses
	return fmt.Sprintf("etcd refuses changes: %v", w.EtcdRefuses)
}

func deny(w *World, r *rand.Rand) string {
	w.Denied = Kinds[r.IntN(len(Kinds))]
	return "a policy denies each " + w.Denied
}

func allow(w *World, _ *rand.Rand) string {
	w.Denied = ""
	return "no policy denies an object"
}

// denies reports whether an admission policy denies an object of a step.
func (w *World) denies(step steps.Step) bool {
	var creates []string
	switch step := step.(type) {
	case steps.CreateVolumes:
		creates = []string{Claims}
	case steps.CreateMembers:
		creates = []string{Pods}
	case steps.CreateMember:
		creates = []string{Pods}
		if w.durable() && (step.Start == state.StartJoin || step.Start == state.StartSeed) && w.volume(step.Name) == nil {
			creates = append(creates, Claims)
		}
	case steps.ApplyServices:
		creates = []string{Service}
	case steps.ApplyBudget:
		creates = []string{Budgets}
	}
	return slices.Contains(creates, w.Denied)
}

// PlanAndDo acts. If etcd or the API server refuses a step, the plan is asked again without it, as the operator does.
func (w *World) PlanAndDo(s *state.State, planner Planner) (steps.Step, error) {
	skipped := false
	for refused := steps.Step(nil); ; {
		step := planner(*s)
		if refused != nil && reflect.DeepEqual(step, refused) { // this planner does not know of waits
			return plan.RefusedForNow(*s, step, "not yet"), nil
		}
		w.Check(step)
		err := w.Act(*s, step)
		s.FencedAt, w.fencedAt = max(s.FencedAt, w.fencedAt), 0
		switch {
		case errors.Is(err, etcd.ErrNotYet):
			plan.Obstruct(s, step, plan.RefusedForNow(*s, step, err.Error()))
		case !errors.Is(err, errDenied) && skipped && !steps.Acts(step):
			return denied(), err
		case !errors.Is(err, errDenied):
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
		return restore.RefuseSeed(s, errDenied.Error(), 30*time.Second)
	}
	return denied()
}

func denied() steps.Wait {
	return steps.Wait{Reason: v1beta2.ReasonObjectRefused, Message: errDenied.Error(), Stalled: true}
}
