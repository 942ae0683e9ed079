package plan_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// TestARunningPodIsRestartedOnlyIfItCannotBeResized: more memory restarts no member, unless Kubernetes or the node refuses it.
func TestARunningPodIsRestartedOnlyIfItCannotBeResized(t *testing.T) {
	for name, test := range map[string]struct {
		fate     world.ResizeFate
		restarts int
	}{
		"the nodes resize the Pods":            {world.ResizeCarriedOut, 0},
		"the nodes wait for room":              {world.ResizeDeferred, 3},
		"no node can ever resize a Pod":        {world.ResizeInfeasible, 3},
		"the kubelets report nothing":          {world.ResizeLost, 3},
		"the API server never allows a resize": {world.ResizeRefused, 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := world.New(3, true)
			run.Run(w, plan.Plan)
			fault.Resize(w, test.fate)
			o := run.Run(w, plan.Plan)
			restarts, resizes := 0, 0
			for _, step := range o.Steps {
				switch step.(type) {
				case steps.DeletePod:
					restarts++
				case steps.ResizePod:
					resizes++
				}
			}
			if restarts != test.restarts || resizes != 3 || o.Last != steps.Step(steps.Done{}) || len(w.Violations) > 0 {
				t.Errorf("%d restarts, want %d; %d resizes; it ends with %+v, %v\n%s", restarts, test.restarts, resizes, o.Last, w.Violations, trace(o))
			}
		})
	}
}

// TestAForbiddenResizeRestartsNoMemberUntilItIsAllowed: a quota is exceeded, and a person corrects it.
func TestAForbiddenResizeRestartsNoMemberUntilItIsAllowed(t *testing.T) {
	w := world.New(3, true)
	run.Run(w, plan.Plan)
	fault.Resize(w, world.ResizeForbidden)
	for range 100 {
		if _, step := run.Pass(w, plan.Plan); !isResize(step) {
			t.Fatalf("the step is %+v", step)
		}
		effects.Tick(w)
	}
	w.Nodes = world.ResizeCarriedOut
	o := run.Run(w, plan.Plan)
	for _, step := range o.Steps {
		if !isResize(step) {
			if _, notes := step.(steps.RelabelPod); !notes {
				t.Errorf("the step is %+v", step)
			}
		}
	}
	if o.Last != steps.Step(steps.Done{}) || len(w.Violations) > 0 {
		t.Errorf("it ends with %+v, %v", o.Last, w.Violations)
	}
}

func isResize(step steps.Step) bool {
	_, is := step.(steps.ResizePod)
	return is
}

// TestRandomFaultsWithResizesBreakNothing adds changes of CPU and memory, with each possible result, to all other faults.
func TestRandomFaultsWithResizesBreakNothing(t *testing.T) {
	t.Parallel()
	randomWorlds(t, randomSteps/10, worlds{resizing: true})
}
