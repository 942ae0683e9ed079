package plan

import (
	"cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// waitUntilGone waits until a Pod or volume is deleted. If that takes too long, the message names what a person must do.
func waitUntilGone(s state.State, m state.Member, why, message string) Step {
	switch {
	case state.Overdue(s, m) && m.Held:
		return waitForFinalizer(m)
	case state.Overdue(s, m):
		return Wait{
			Reason:  v1beta2.ReasonPodFailing,
			Message: "Pod " + m.Name + " should have stopped, but its node does not confirm it. It may still run, so the operator waits. " + state.HowToEnd(m),
			Stalled: true,
		}
	}
	return Wait{Reason: why, Message: message}
}

// waitForFinalizer reports a Pod whose object is kept by a finalizer of another party. A deletion with --force removes none.
func waitForFinalizer(m state.Member) Step {
	is := "Nothing of it runs any more."
	if !m.Stopped && !m.Terminated {
		is = "Its node has not confirmed that it has stopped, so make sure that the node is off."
	}
	return Wait{
		Reason: v1beta2.ReasonPodFailing,
		Message: "Pod " + m.Name + " is deleted, but a finalizer keeps its object: " + cmp.Or(m.Finalizers, "unknown") + ". " + is +
			" Correct the controller that set the finalizer, or remove the finalizer from the Pod.",
		Stalled: true,
	}
}

// reportHeldPods reports the Pod of a removed member that a finalizer keeps. Nothing of the cluster waits for it.
func reportHeldPods(s state.State) Step {
	for _, m := range s.Current() {
		if s.MembershipKnown && !m.InMembership && m.Held && state.Overdue(s, m) {
			return waitForFinalizer(m)
		}
	}
	return nil
}

// deleteStopped deletes the object of a Pod that has stopped, if its member is to be started again. The kubelet deletes the
// object only after it has unmounted the volumes. The next Pod has the same name, and would wait for that.
func deleteStopped(s state.State) Step {
	if !s.Formed() || s.Switching() {
		return nil
	}
	for _, m := range s.Current() {
		_, restarts := state.StartOf(s, m)
		forget := ForceDeletePod{Name: m.Name, Stopped: true}
		if restarts && m.Pod == state.PodDeleting && m.Stopped && !m.Held && m.Volume == state.VolumePresent && may(s, forget) {
			return forget
		}
	}
	return nil
}
