package lifecycle

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// The states of a resize. ResizeNone is also that of a Pod that differs from the spec in more than CPU and memory, and of
// one whose resize Kubernetes or the node refused: such a Pod is recreated.
const (
	// ResizeWanted: only CPU and memory of etcd's container differ from the spec.
	ResizeWanted state.ResizeState = "Wanted"
	// ResizeUnderWay: Kubernetes accepted the resize, and the node has not carried it out yet.
	ResizeUnderWay state.ResizeState = "UnderWay"
)

// ResizeGrace is how long a node may take for a resize. Afterwards the Pod is recreated.
const ResizeGrace = 10 * time.Minute

// ResizePods changes CPU and memory of running Pods, one after the other, the leader last. All members serve when this rule
// is asked, and none is restarted. If the node refuses, rollMembers recreates the Pod.
func ResizePods(s state.State) steps.Step {
	if !s.Formed() {
		return nil
	}
	var leader steps.Step
	for _, m := range s.Membership() {
		switch {
		case m.Resize == ResizeUnderWay:
			return waitForResize(m)
		case m.Resize == ResizeWanted && m.Leader && waits.May(s, steps.ResizePod{Name: m.Name}):
			leader = steps.ResizePod{Name: m.Name}
		}
	}
	for _, m := range s.Membership() {
		if m.Resize == ResizeWanted && !m.Leader && waits.May(s, steps.ResizePod{Name: m.Name}) {
			return steps.ResizePod{Name: m.Name}
		}
	}
	return leader
}

func waitForResize(m state.Member) steps.Step {
	said := ""
	if m.ResizeMessage != "" {
		said = planning.Sentence(" Kubernetes reports: ", m.ResizeMessage)
	}
	return steps.Wait{
		Reason: v1beta2.ReasonResizingPod, Requeue: state.RequeueSettled,
		Message: "The node of member " + m.Name + " is changing its CPU and memory." + said + " All members serve. If that takes more than " +
			ResizeGrace.String() + ", the operator restarts the member.",
	}
}
