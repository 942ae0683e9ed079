package waits

import (
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// WaitForOthers keeps a recovery from beginning while a person has put other claims in the place of lost ones. A migration of storage gives
// the same disks other names, and then these members may have what no other has. The consent to continue without what is lost is none to
// continue without that. It returns nil if there is nothing to decide.
func WaitForOthers(s state.State, lost string) steps.Step {
	copies, alone := state.Undecided(s)
	if len(copies)+len(alone) == 0 {
		return nil
	}
	said := lost + " The operator does not continue from one member before a person has decided about them."
	if len(copies) > 0 {
		said += " If they are the same disks under other names, " + state.HowToAccept(state.Tokens(s, copies)) + " If they are copies, delete these PersistentVolumeClaims."
	}
	if len(alone) > 0 {
		said += " To continue with the data of " + strings.Join(state.MemberNames(alone), " or ") + ", " + state.HowToAccept(state.Tokens(s, alone)) + " To give it up, save it, and delete that PersistentVolumeClaim."
	}
	return steps.Wait{Reason: v1beta2.ReasonQuorumLost, Stalled: true, Message: said + " The operator then continues from the member with the newest data."}
}

// WaitForSetAside reports an old volume that is yet to be set aside. Its Pod object may still be there. Otherwise the API server refuses
// the change, or another party reverses it.
func WaitForSetAside(s state.State, m state.Member) steps.Step {
	wait := steps.Wait{Reason: v1beta2.ReasonRecovering, Message: "The operator has yet to set volume " + m.Name + " aside, which has the data from before the recovery."}
	if m.Pod == state.PodNone && !May(s, steps.SetAsideVolume{Name: m.Name}) {
		wait.Stalled = true
		wait.Message += " The API server refuses that, or another party reverses it. The members serve, and the operator deletes nothing. " +
			"Exempt the PersistentVolumeClaims of this cluster from what is in the way, or delete this one to give up its data."
	}
	return wait
}

// WaitForOther reports that a volume of unknown data keeps a member from being replaced: the operator would delete it afterwards.
func WaitForOther(s state.State, m state.Member) steps.Step {
	return steps.Wait{
		Reason: v1beta2.ReasonAnotherVolume, Stalled: true,
		Message: "Member " + m.Name + " must be replaced, because " + state.CauseVolumeOther + ". The operator cannot set PersistentVolumeClaim " + m.Name +
			" aside: the API server refuses that, or another party reverses it. " + state.Impact(s) + " Exempt the PersistentVolumeClaims of this cluster from what is in the way, or delete this one.",
	}
}
