package lifecycle

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// ReportHeldPods reports the Pod of a removed member that a finalizer keeps. Nothing of the cluster waits for it.
func ReportHeldPods(s state.State) steps.Step {
	for _, m := range s.Current() {
		if s.MembershipKnown && !m.InMembership && m.Held && state.Overdue(s, m) {
			return waits.WaitForFinalizer(m)
		}
	}
	return nil
}

// DeleteStopped deletes the object of a Pod that has stopped, if its member is to be started again. The kubelet deletes the
// object only after it has unmounted the volumes. The next Pod has the same name, and would wait for that.
func DeleteStopped(s state.State) steps.Step {
	if !s.Formed() || s.Switching() {
		return nil
	}
	for _, m := range s.Current() {
		_, restarts := state.StartOf(s, m)
		forget := steps.ForceDeletePod{Name: m.Name, Stopped: true}
		if restarts && m.Pod == state.PodDeleting && m.Stopped && !m.Held && m.Volume == state.VolumePresent && waits.May(s, forget) {
			return forget
		}
	}
	return nil
}
