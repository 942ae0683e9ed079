package plan_test

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/explore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Each of these bugs of a fence loses writes, or refuses them without end. The exploration must find all of them, or it proves nothing.
func TestBugsOfAFenceAreFoundInSomeInterleaving(t *testing.T) {
	cancels := explore.Bounds{Changes: 1, All: 1}
	for name, test := range map[string]struct {
		bug       run.Planner
		bounds    explore.Bounds
		invariant world.Invariant
	}{
		"no fence":                      {adoptWithoutFence, explore.Bounds{}, world.AcknowledgedWritesSurvive},
		"fence after the Service":       {fenceAfterService, explore.Bounds{}, world.ReplacedIsSilent},
		"fence taken back too late":     {takeFenceBackLate, cancels, world.EveryRunSettles},
		"fence never taken back":        {plan.PlanWith(plan.Without("takeFenceBack")), cancels, world.EveryRunSettles},
		"fence mistaken for corruption": {disarmFence, explore.Bounds{}, world.EveryRunSettles},
	} {
		t.Run(name, func(t *testing.T) {
			x := operations[0].exploration(test.bug, 0)
			x.Bounds = test.bounds
			x.Stop = func() bool { return len(x.Violations) > 0 }
			x.Run(operations[0].start(1))
			if len(x.Violations) == 0 {
				t.Fatalf("not found in %d states", x.States)
			}
			v := x.Violations[0]
			t.Logf("found after %d states: %s\n%s", x.States, v.Text, strings.Join(v.Trace, "\n"))
			if !strings.HasPrefix(v.Text, test.invariant.String()) {
				t.Errorf("it breaks %s, want %s", v.Text, test.invariant)
			}
		})
	}
}

func isRestoreFence(step steps.Step) bool {
	fence, is := step.(steps.FenceWrites)
	return is && fence.Seed == "" && fence.ID == etcd.FenceID(restoreUID)
}

func adoptWithoutFence(s state.State) steps.Step {
	if step := plan.Plan(s); !isRestoreFence(step) {
		return step
	}
	return steps.AdoptSeed{ClusterID: s.Restore.ClusterID, Incarnation: s.Restore.Incarnation}
}

// fenceAfterService leads clients to the seed before it fences the old members.
func fenceAfterService(s state.State) steps.Step {
	step := plan.Plan(s)
	if !isRestoreFence(step) || s.Services.ClientIncarnation == s.Restore.Incarnation {
		return step
	}
	return steps.ApplyServices{Incarnation: s.Restore.Incarnation, ClusterID: s.Restore.ClusterID, RestoreUID: s.Restore.UID}
}

// takeFenceBackLate does all else before it takes back the fence of a restore that was cancelled.
func takeFenceBackLate(s state.State) steps.Step {
	step := plan.Plan(s)
	if _, is := step.(steps.UnfenceWrites); !is {
		return step
	}
	switch other := plan.PlanWith(plan.Without("takeFenceBack"))(s).(type) {
	case steps.Done, steps.Advice:
		return step
	default:
		return other
	}
}

// disarmFence takes the fence for an alarm without a cause.
func disarmFence(s state.State) steps.Step {
	for _, m := range s.Current() {
		for _, alarm := range m.Alarms {
			if alarm.IsFence() && s.MembershipKnown {
				return steps.DisarmAlarm{Alarm: alarm}
			}
		}
	}
	return plan.Plan(s)
}
