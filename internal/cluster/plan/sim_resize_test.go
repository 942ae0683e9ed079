package plan_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/model"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// TestARunningPodIsRestartedOnlyIfItCannotBeResized: more memory restarts no member, unless Kubernetes or the node refuses it.
func TestARunningPodIsRestartedOnlyIfItCannotBeResized(t *testing.T) {
	for name, test := range map[string]struct {
		fate     model.ResizeFate
		restarts int
	}{
		"the nodes resize the Pods":            {model.ResizeCarriedOut, 0},
		"the nodes wait for room":              {model.ResizeDeferred, 3},
		"no node can ever resize a Pod":        {model.ResizeInfeasible, 3},
		"the kubelets report nothing":          {model.ResizeLost, 3},
		"the API server never allows a resize": {model.ResizeRefused, 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := model.New(3, true)
			w.Run(plan.Plan)
			w.Resize(test.fate)
			o := w.Run(plan.Plan)
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
	w := model.New(3, true)
	w.Run(plan.Plan)
	w.Resize(model.ResizeForbidden)
	for range 100 {
		if _, step := w.Pass(plan.Plan); !isResize(step) {
			t.Fatalf("the step is %+v", step)
		}
		w.Tick()
	}
	w.Nodes = model.ResizeCarriedOut
	o := w.Run(plan.Plan)
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
