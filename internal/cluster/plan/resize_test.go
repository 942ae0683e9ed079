package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

func resizing(podState state.ResizeState) func(*state.Member) {
	return func(m *state.Member) { m.Outdated, m.Resize = true, podState }
}

func TestPlanResize(t *testing.T) {
	underWay := "The node of member " + nameOf(1) + " is changing its CPU and memory."
	rest := " All members serve. If that takes more than 10m0s, the operator restarts the member."
	planTests{
		"resizes a running Pod and restarts no member": {
			stateWith(formed, members(3), with(1, resizing(lifecycle.ResizeWanted)), with(2, resizing(lifecycle.ResizeWanted))), steps.ResizePod{Name: nameOf(1)},
		},
		"resizes a follower before the leader": {
			stateWith(formed, members(3), with(0, resizing(lifecycle.ResizeWanted)), with(2, resizing(lifecycle.ResizeWanted))), steps.ResizePod{Name: nameOf(2)},
		},
		"resizes the leader without a transfer of leadership": {
			stateWith(formed, members(3), with(0, resizing(lifecycle.ResizeWanted))), steps.ResizePod{Name: nameOf(0)},
		},
		"resizes one Pod at a time": {
			stateWith(formed, members(3), with(1, resizing(lifecycle.ResizeUnderWay)), with(2, resizing(lifecycle.ResizeWanted))),
			steps.Wait{Reason: v1beta2.ReasonResizingPod, Message: underWay + rest, Requeue: state.RequeueSettled},
		},
		"reports why the node has not resized the Pod yet": {
			stateWith(formed, members(3), with(1, resizing(lifecycle.ResizeUnderWay), func(m *state.Member) { m.ResizeMessage = "not enough memory" })),
			steps.Wait{Reason: v1beta2.ReasonResizingPod, Message: underWay + " Kubernetes reports: not enough memory." + rest, Requeue: state.RequeueSettled},
		},
		"restarts a member whose Pod cannot be resized": {
			stateWith(formed, members(3), with(1, resizing(state.ResizeNone))), steps.DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonRolling, Message: "spec.pod or spec.TLS has changed"},
		},
		"resizes a Pod in place if its data is in the Pod": {
			stateWith(formed, members(3), ephemeral, with(1, resizing(lifecycle.ResizeWanted))), steps.ResizePod{Name: nameOf(1)},
		},
		"resizes a Pod while spec.version is refused": {
			stateWith(formed, members(3), ofVersion("3.9.0"), with(1, resizing(lifecycle.ResizeWanted))), steps.ResizePod{Name: nameOf(1)},
		},
		"restarts a member that does not serve instead of resizing its Pod": {
			stateWith(formed, members(3), with(1, silent, resizing(lifecycle.ResizeWanted), unreadyFor(2*time.Minute))),
			steps.DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonSettling, Message: "it does not serve and differs from the spec"},
		},
	}.run(t)
}

func TestAResizeThatIsHeldForOneMemberStopsNoOther(t *testing.T) {
	s := stateWith(formed, members(3), with(1, resizing(lifecycle.ResizeWanted)), with(2, resizing(lifecycle.ResizeWanted)))
	s.Held = []state.Held{{Step: steps.RepeatKey(s, steps.ResizePod{Name: nameOf(1)}), Times: 3, Until: noon.Add(time.Minute)}}
	if step, rule := Choose(s); step != (steps.ResizePod{Name: nameOf(2)}) {
		t.Errorf("rule %s: %+v", rule, step)
	}
	s.Members[2].Resize, s.Members[2].Outdated = state.ResizeNone, false
	if step, rule := Choose(s); steps.Acts(step) {
		t.Errorf("rule %s: %+v", rule, step)
	}
}
