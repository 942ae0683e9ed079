package services

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// RelabelPods sets the labels and annotations of running Pods to those of the spec. It also records on the Pod of an earlier
// release which spec it was created for, if the Pod itself shows that.
func RelabelPods(s state.State) steps.Step {
	for _, m := range s.Current() {
		if m.Relabel && (m.Pod == state.PodRunning || m.Pod == state.PodStarting) && s.Formed() && waits.May(s, steps.RelabelPod{Name: m.Name}) {
			return steps.RelabelPod{Name: m.Name}
		}
	}
	return nil
}
