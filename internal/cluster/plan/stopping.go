package plan

import (
	"cmp"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// goneGrace is how long a Pod may outlive the end of its grace period before a person is asked.
const goneGrace = 30 * time.Second

// waitUntilGone waits until a Pod or volume is deleted. If that takes too long, the message names what a person must do.
func (s State) waitUntilGone(m Member, why, message string) Step {
	switch {
	case s.overdue(m) && m.Held:
		return waitForFinalizer(m)
	case s.overdue(m):
		return Wait{
			Reason:  v1beta2.ReasonPodFailing,
			Message: "Pod " + m.Name + " should have stopped, but its node does not confirm it. It may still run, so the operator waits. " + howToEnd(m),
			Stalled: true,
		}
	}
	return Wait{Reason: why, Message: message}
}

// howToEnd says how a person ends the Pods of members that do not stop. A deletion with --force removes no finalizer, and without it the
// object stays.
func howToEnd(members ...Member) string {
	node, pod, kept := "the node is", "the Pod", []string{}
	if len(members) > 1 {
		node, pod = "these nodes are", "the Pods"
	}
	for _, m := range members {
		if m.Held {
			kept = append(kept, m.Name+": "+cmp.Or(m.Finalizers, "unknown"))
		}
	}
	advice := "Make sure that " + node + " off. Then delete " + pod + " with --force --grace-period=0."
	if len(kept) > 0 {
		advice += " Finalizers keep the objects of these Pods, so remove them, too: " + strings.Join(kept, "; ") + "."
	}
	return advice
}

// waitForFinalizer reports a Pod whose object is kept by a finalizer of another party. A deletion with --force removes none.
func waitForFinalizer(m Member) Step {
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
func reportHeldPods(s State) Step {
	for _, m := range s.Current() {
		if s.MembershipKnown && !m.InMembership && m.Held && s.overdue(m) {
			return waitForFinalizer(m)
		}
	}
	return nil
}

// deleteStopped deletes the object of a Pod that has stopped, if its member is to be started again. The kubelet deletes the
// object only after it has unmounted the volumes. The next Pod has the same name, and would wait for that.
func deleteStopped(s State) Step {
	if !s.Formed() || s.switching() {
		return nil
	}
	for _, m := range s.Current() {
		_, restarts := s.startOf(m)
		forget := ForceDeletePod{Name: m.Name, Stopped: true}
		if restarts && m.Pod == PodDeleting && m.Stopped && !m.Held && m.Volume == VolumePresent && s.may(forget) {
			return forget
		}
	}
	return nil
}

// overdue says whether a Pod exists for longer after its grace period than goneGrace.
func (s State) overdue(m Member) bool {
	return m.Pod == PodDeleting && !m.GoneBy.IsZero() && s.Now.Sub(m.GoneBy) > goneGrace
}
