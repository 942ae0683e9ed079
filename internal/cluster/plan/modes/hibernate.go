package modes

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// Hibernate stops all members, the leader last, so that a member with all data answers until the end. The operator does not
// report a lost quorum then. A restore or a recovery that is under way ends first.
func Hibernate(s state.State) steps.Step {
	if !s.Spec.Hibernate || s.Restoring() || s.Forcing() || waits.ForeignMembers(s) != nil {
		return nil
	}
	if !s.Durable() {
		return steps.Wait{
			Reason:  v1beta2.ReasonInvalidSpec,
			Message: "With spec.pod.emptyDir all data is lost when all Pods stop. The operator stops none of them. Set spec.hibernate to false.",
			Stalled: true,
		}
	}
	for _, m := range s.Current() {
		if (state.GoesWithPod(s, m) || m.Volume == state.VolumeDeleting) && m.Pod != state.PodNone && m.Pod != state.PodDeleting {
			return nil // only its Pod keeps its data: it is replaced first
		}
	}
	if m, ok := nextToStop(s); ok {
		return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonHibernating, Message: "spec.hibernate is true"}
	}
	for _, m := range s.Members {
		if m.Pod == state.PodDeleting {
			return waits.WaitUntilGone(s, m, v1beta2.ReasonHibernating, "Member "+m.Name+" is stopping.")
		}
	}
	message := "The cluster hibernates: it has no Pods, and its volumes, membership and ID are kept. Set spec.hibernate to false to start it." + awaitsCA(s, "when the cluster starts again")
	if s.RestorePending != "" {
		message += " EtcdRestore " + s.RestorePending + " starts after that."
	}
	return steps.Hibernating{Message: message}
}

// nextToStop is a member that runs, the leader after all others. A Pod that has ended comes last: if the API server refuses to
// delete it, the members have stopped.
func nextToStop(s state.State) (last state.Member, found bool) {
	for _, m := range s.Members {
		switch {
		case m.Pod == state.PodNone, m.Pod == state.PodDeleting, found && m.Pod == state.PodEnded:
		case !m.Leader && m.Pod != state.PodEnded:
			return m, true
		case !found || last.Pod == state.PodEnded:
			last, found = m, true
		}
	}
	return last, found
}
