package plan

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// RelabelPod brings the labels and annotations of a running Pod to those that the spec asks for.
type RelabelPod struct{ Name string }

func (step RelabelPod) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonRolling,
		Message: "The operator is setting the labels and annotations of member " + step.Name + " to those of spec.pod.",
		Requeue: state.RequeueSoon,
	}
}

// relabelPods sets the labels and annotations of running Pods to those of the spec. It also records on the Pod of an earlier
// release which spec it was created for, if the Pod itself shows that.
func relabelPods(s state.State) Step {
	for _, m := range s.Current() {
		if m.Relabel && (m.Pod == state.PodRunning || m.Pod == state.PodStarting) && s.Formed() && may(s, RelabelPod{Name: m.Name}) {
			return RelabelPod{Name: m.Name}
		}
	}
	return nil
}
