package recovery

import (
	"cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// survivorPod takes the Pod of the survivor to where its etcd starts, with the flag or without it. It deletes a Pod that cannot run, that would start
// on other data, or that lacks the flag, and says why. It is nil if the Pod starts or runs.
func survivorPod(s state.State, m state.Member, start state.Start, why string) steps.Step {
	again := steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonRecovering, Message: why}
	switch {
	case state.BacksOff(s, m):
		return waits.WaitForAttempt(s, []state.Member{m})
	case state.StartsOnAnother(s, m):
		return again
	case m.Pod == state.PodDeleting:
		return waits.WaitUntilGone(s, m, v1beta2.ReasonRecovering, "Survivor "+m.Name+" is stopping. After that, "+why+".")
	case m.Pod == state.PodNone && start == state.StartForce && s.Recovery.ForcedAt == nil:
		return steps.RecordForcing{Member: m.Name}
	case m.Pod == state.PodNone:
		return steps.CreateMember{Name: m.Name, Incarnation: m.Incarnation, Start: start}
	case state.GoesWithPod(s, m):
		return losesSurvivor(s, m)
	case state.SilentWithOldCA(s, m):
		again.Message = "it does not serve, and it must trust the CA that its Secrets hold now"
		return again
	case m.Volume != state.VolumePresent, m.Pod == state.PodEnded, start == state.StartForce && m.Start != start:
		return again
	case m.Pod == state.PodBlocked && (m.Outdated || m.PodImage != s.ImageFor(m.Incarnation)):
		return again
	case m.Pod == state.PodBlocked:
		return steps.Wait{Reason: m.PodReason, Stalled: true, Message: planning.Sentence("Survivor "+m.Name+" does not run: ", m.PodMessage) +
			" To give it up, delete its PersistentVolumeClaim. To continue from a snapshot, apply an EtcdRestore."}
	}
	return nil
}

// waitForSurvivorsPermission: the survivor serves alone, and refuses the operator, which cannot prove it.
func waitForSurvivorsPermission(s state.State, m state.Member) steps.Step {
	return steps.Wait{
		Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true, Requeue: state.RequeueSettled,
		Message: "Survivor " + m.Name + " was restarted with --force-new-cluster. " + state.WhyRefused(s, m.Refusal) +
			" The operator cannot see that the survivor serves alone, so the recovery waits, and no client is served. " + state.HowToPermit(s, m.Refusal),
	}
}

// isAlone says whether a member is all of the membership.
func isAlone(s state.State, m state.Member) bool {
	membership := s.Membership()
	return len(membership) == 1 && membership[0].Name == m.Name && !m.Learner && len(s.ForeignMembers) == 0
}

// dropFlag makes a Pod again that was started with --force-new-cluster: restarted in place with it, etcd would drop
// what it had not committed, and later the other members.
func dropFlag(s state.State) steps.Step {
	for _, m := range s.Current() {
		switch {
		case m.Start != state.StartForce || m.Pod == state.PodNone:
		case m.Pod == state.PodDeleting:
			return waits.WaitUntilGone(s, m, v1beta2.ReasonRecovering, "Member "+m.Name+" is restarting without --force-new-cluster.")
		case !s.Durable():
			return KeepsSurvivor(m)
		case state.GoesWithPod(s, m):
			return losesSurvivor(s, m)
		default:
			return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonRecovering, Message: "it must start without --force-new-cluster"}
		}
	}
	return nil
}

// KeepsSurvivor waits if the next Pod of a survivor would be without its data.
func KeepsSurvivor(m state.Member) steps.Step {
	return steps.Wait{
		Reason: v1beta2.ReasonRecovering,
		Message: "The recovery must restart survivor " + m.Name + " with the data on its volume, but spec.pod.emptyDir asks for Pods without volumes. " +
			"The operator stops no Pod. Remove spec.pod.emptyDir until the recovery is complete.",
		Stalled: true,
	}
}

func losesSurvivor(s state.State, m state.Member) steps.Step {
	return steps.Wait{
		Reason: v1beta2.ReasonRecovering,
		Message: "Only the Pod of survivor " + m.Name + " still has its data, because " + cmp.Or(state.VolumeLoss(s, m), state.CauseVolumeGone) + ". The data is lost when the Pod ends. " +
			"Save the data first with an EtcdBackup by etcdEndpoints. Then apply an EtcdRestore of that snapshot. To give the data up, delete the Pod.",
		Stalled: true,
	}
}
