package recovery

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// fence stops the Pods of all members but those that keep returns true for, and waits until each is proven gone. A Pod that has ended
// cannot run again. If the API server refuses to delete its object, or a finalizer keeps it, the recovery continues beside it, provided that
// the member has no data and its kubelet has reported that nothing of it runs.
func fence(s state.State, keep func(state.Member) bool) steps.Step {
	var refused steps.Step
	for _, m := range s.Members {
		stop := FenceStop(m)
		switch {
		case keep(m) || m.Pod == state.PodNone || m.Pod == state.PodDeleting:
		case m.Pod != state.PodEnded || waits.May(s, stop):
			return stop
		case (s.HoldsData(m) || !m.Terminated) && refused == nil:
			refused = WaitForRefusedStop(m)
		}
	}
	for _, m := range s.Members {
		if !keep(m) && m.Pod == state.PodDeleting && (!m.Held || !m.Terminated || m.Volume != state.VolumeNone) {
			return waits.WaitUntilGone(s, m, v1beta2.ReasonRecovering, "Member "+m.Name+" is stopping. Then the survivor continues alone.")
		}
	}
	return refused
}

// FenceStop stops a member before the survivor continues alone.
func FenceStop(m state.Member) steps.DeletePod {
	return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonRecovering, Message: "only the survivor may run while it restarts with --force-new-cluster"}
}

// WaitForRefusedStop reports that a recovery waits for an object that the API server refuses to delete.
func WaitForRefusedStop(m state.Member) steps.Step {
	why := "Its member has data"
	if !m.Terminated {
		why = "No kubelet has reported that its containers have ended"
	}
	return steps.Wait{
		Reason: v1beta2.ReasonRecovering, Stalled: true, Requeue: state.FirstRefusal,
		Message: "The API server refuses to delete Pod " + m.Name + ", which has stopped. " + why + ", so the survivor does not continue alone before the Pod is deleted. " +
			"Exempt the Pods of this cluster from what refuses it, or delete the Pod.",
	}
}

// FencesStopped reports whether a step of a recovery deletes the object of a Pod that has ended. If the API server refuses that, the plan
// has another step.
func FencesStopped(s state.State, step steps.Step) bool {
	stop, is := step.(steps.DeletePod)
	m, exists := state.Find(s, stop.Name)
	return is && exists && m.Pod == state.PodEnded && stop == FenceStop(m)
}
