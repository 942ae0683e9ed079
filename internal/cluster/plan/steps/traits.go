package steps

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// Irreversible reports whether a step destroys something, stops a member, leads clients elsewhere, lets a cluster form, or changes who
// is a member, votes or leads.
// A volume that is created for a cluster that has begun to form would let a member start again without its data. A volume that is not
// to be kept is deleted with its EtcdCluster. Such a step is taken only if a read past the cache shows the EtcdCluster that it was
// planned on: a new leader's cache can be hours old.
func Irreversible(s state.State, step Step) bool {
	switch step := step.(type) {
	case RemoveMember, DeleteVolume, StopMembers, DeletePod, BeginSwitch, ReturnToSeeding, AdoptSeed, CreateVolumes, CreateMembers, RestoreLabels,
		AddLearner, PromoteLearner, MoveLeader, CompactHistory, PromoteStandby, FenceWrites, UnfenceWrites, ChangeAccounts:
		return true
	case KeepVolume:
		return !step.Keep
	case ForceDeletePod:
		return !step.Stopped
	case CreateMember:
		return step.Start == state.StartSeed || step.Start == state.StartForce
	case ApplyServices:
		return s.Services.ClientExists && (step.Incarnation != s.Services.ClientIncarnation || step.ClusterID != s.Services.ClientClusterID)
	}
	return false
}

// Confirmed reports whether a step is taken only on the newest EtcdCluster: if it is irreversible, starts a member, sets a volume aside, or keeps
// a member from answering. A member of an earlier incarnation that starts again would serve old data beside the restored cluster. A volume that
// is set aside is deleted some time later, and the spec may ask for more members by now.
func Confirmed(s state.State, step Step) bool {
	switch step.(type) {
	case CreateMember, SetAsideVolume, DefragmentMember:
		return true
	}
	return Irreversible(s, step)
}

// ObjectKey names the object of a step by the step's message.
func ObjectKey(step Step) string {
	return fmt.Sprintf("%T %s", step, Describe(state.State{}, step).Message)
}

// RepeatedObject names what a step sets to wanted content. It is empty for all other steps.
func RepeatedObject(s state.State, step Step) string {
	switch step := step.(type) {
	case ApplyServices:
		return fmt.Sprintf("%T%s", step, differing(s, step))
	case ApplyBudget, WithdrawBudget, ApplyNetworkPolicy, WithdrawNetworkPolicy, HandOutCA, AnnounceUserCertificates, RequestUserCertificates, WithdrawUserCertificates:
		return fmt.Sprintf("%T", step)
	case AddToService, RemoveFromService, ReleaseMember, RelabelPod, ApplyMetadata, ForbidEmptyStart, ResizePod, RestoreLabels, LoadCertificates, KeepVolume, ResizeVolume, UnmarkVolume, ChangeAccounts:
		return ObjectKey(step)
	case SetAsideVolume:
		return fmt.Sprintf("%T %s", step, step.Name)
	}
	return ""
}

// RepeatKey words a step. ApplyServices is about two objects, and is another step if the other one has to be corrected.
func RepeatKey(s state.State, step Step) string {
	if DeletesStopped(s, step) {
		return "the stopped Pod " + StoppedPod(step)
	}
	return fmt.Sprintf("%T %+v%s", step, step, differing(s, step))
}

// differing names the Services that ApplyServices has to correct.
func differing(s state.State, step Step) string {
	if _, is := step.(ApplyServices); !is {
		return ""
	}
	headless, forClients := state.ServicesCurrent(s)
	return fmt.Sprintf(", current: %t, %t", headless, forClients)
}

// Acts reports whether a step has an effect, and does not only report or wait.
func Acts(step Step) bool {
	switch step.(type) {
	case Done, Idle, Wait, AwaitResize, Hibernating, VolumeMayFill, Advice:
		return false
	}
	return true
}

// Reports says whether a step only reports something beside which the cluster is as it should be. It must hide no wait after it.
func Reports(step Step) bool {
	switch step.(type) {
	case Advice, VolumeMayFill, AwaitResize:
		return true
	}
	return false
}

// Join adds to a wait that a person must act for another one, too.
func (step *Wait) Join(later Wait) {
	if !later.Stalled {
		return
	}
	if !step.Stalled {
		step.Was, step.Reason, step.Stalled, step.Requeue = step.Key(), later.Reason, true, later.Requeue
	}
	step.Message += " Meanwhile: " + later.Message
}

// DeletesStopped reports whether a step deletes the object of a Pod of which nothing runs any more.
func DeletesStopped(s state.State, step Step) bool {
	switch step := step.(type) {
	case ForceDeletePod:
		return step.Stopped
	case DeletePod:
		m, _ := state.Find(s, step.Name)
		return m.Pod == state.PodEnded
	}
	return false
}

// StoppedPod returns the Pod of a step that DeletesStopped.
func StoppedPod(step Step) string {
	if forced, is := step.(ForceDeletePod); is {
		return forced.Name
	}
	deleted, _ := step.(DeletePod)
	return deleted.Name
}
