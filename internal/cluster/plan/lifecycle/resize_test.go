package lifecycle_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func resizing(podState state.ResizeState) func(*state.Member) {
	return func(m *state.Member) { m.Outdated, m.Resize = true, podState }
}

func TestPlanResize(t *testing.T) {
	underWay := "The node of member " + plantest.NameOf(1) + " is changing its CPU and memory."
	rest := " All members serve. If that takes more than 10m0s, the operator restarts the member."
	plantest.Plans{
		"resizes a running Pod and restarts no member": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, resizing(lifecycle.ResizeWanted)), plantest.With(2, resizing(lifecycle.ResizeWanted))), steps.ResizePod{Name: plantest.NameOf(1)},
		},
		"resizes a follower before the leader": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, resizing(lifecycle.ResizeWanted)), plantest.With(2, resizing(lifecycle.ResizeWanted))), steps.ResizePod{Name: plantest.NameOf(2)},
		},
		"resizes the leader without a transfer of leadership": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, resizing(lifecycle.ResizeWanted))), steps.ResizePod{Name: plantest.NameOf(0)},
		},
		"resizes one Pod at a time": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, resizing(lifecycle.ResizeUnderWay)), plantest.With(2, resizing(lifecycle.ResizeWanted))),
			steps.Wait{Reason: v1beta2.ReasonResizingPod, Message: underWay + rest, Requeue: state.RequeueSettled},
		},
		"reports why the node has not resized the Pod yet": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, resizing(lifecycle.ResizeUnderWay), func(m *state.Member) { m.ResizeMessage = "not enough memory" })),
			steps.Wait{Reason: v1beta2.ReasonResizingPod, Message: underWay + " Kubernetes reports: not enough memory." + rest, Requeue: state.RequeueSettled},
		},
		"restarts a member whose Pod cannot be resized": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, resizing(state.ResizeNone))), steps.DeletePod{Name: plantest.NameOf(1), Reason: v1beta2.ReasonRolling, Message: "spec.pod or spec.TLS has changed"},
		},
		"resizes a Pod in place if its data is in the Pod": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Ephemeral, plantest.With(1, resizing(lifecycle.ResizeWanted))), steps.ResizePod{Name: plantest.NameOf(1)},
		},
		"resizes a Pod while spec.version is refused": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.9.0"), plantest.With(1, resizing(lifecycle.ResizeWanted))), steps.ResizePod{Name: plantest.NameOf(1)},
		},
		"restarts a member that does not serve instead of resizing its Pod": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Silent, resizing(lifecycle.ResizeWanted), plantest.UnreadyFor(2*time.Minute))),
			steps.DeletePod{Name: plantest.NameOf(1), Reason: v1beta2.ReasonSettling, Message: "it does not serve and differs from the spec"},
		},
	}.Run(t, plan.Plan)
}

func TestAResizeThatIsHeldForOneMemberStopsNoOther(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, resizing(lifecycle.ResizeWanted)), plantest.With(2, resizing(lifecycle.ResizeWanted)))
	s.Held = []state.Held{{Step: steps.RepeatKey(s, steps.ResizePod{Name: plantest.NameOf(1)}), Times: 3, Until: plantest.Noon.Add(time.Minute)}}
	if step, rule := plan.Choose(s); step != (steps.ResizePod{Name: plantest.NameOf(2)}) {
		t.Errorf("rule %s: %+v", rule, step)
	}
	s.Members[2].Resize, s.Members[2].Outdated = state.ResizeNone, false
	if step, rule := plan.Choose(s); steps.Acts(step) {
		t.Errorf("rule %s: %+v", rule, step)
	}
}
