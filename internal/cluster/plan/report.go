package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// messageOf says in one sentence what a step does, or what is waited for.
func MessageOf(s State, step Step) string {
	switch step := step.(type) {
	case Done:
		return fmt.Sprintf("%d members serve version %s", s.Voters().Total, s.Spec.EtcdVersion())
	case Idle:
		return step.Message
	case Wait:
		return step.Message
	case DeletePod:
		return "member " + step.Name + ": " + step.Message
	case ApplyServices:
		return "making the Services"
	case CreateVolumes:
		return fmt.Sprintf("making the volumes of %d members", step.Size)
	case BeginBootstrap:
		return "the volumes are there: the members can start"
	case CreateMembers:
		return fmt.Sprintf("making %d members", step.Size)
	case CreateMember:
		return fmt.Sprintf("making the Pod of member %s (%s)", step.Name, step.Start)
	case RecordFormed:
		return "the cluster has formed with ID " + step.ClusterID
	case ExposeMember:
		return "letting clients reach member " + step.Name
	case AddLearner:
		return "adding member " + step.Name + s.inPlace()
	case PromoteLearner:
		return "member " + step.Name + " is catching up, then it votes"
	case MoveLeader:
		return "moving leadership from " + step.From + " to " + step.Name
	case RemoveMember:
		return removeMessage(s, step)
	case RelabelPod:
		return "bringing labels and annotations of member " + step.Name + " to those of spec.pod"
	case EnableDowngrade, CancelDowngrade, RecordVersionChange:
		return versionMessage(step)
	case DeleteVolume:
		return "deleting volume " + step.Name + ", which is not needed any more"
	}
	if step, ok := step.(speaker); ok {
		return step.message(s)
	}
	return restoreMessage(s, step)
}

// speaker is a step that has its own words.
type speaker interface{ message(s State) string }

func restoreMessage(s State, step Step) string {
	switch step := step.(type) {
	case BeginRestore:
		return "restoring EtcdRestore " + step.Restore.Name + " into a seed beside the members that serve"
	case BeginSwitch:
		return fmt.Sprintf("the seed is proven at revision %d: the old members stop and it takes over", step.Revision)
	case StopMembers:
		if step.Except == 0 {
			return "a member was lost before the cluster had formed: stopping the others to start anew"
		}
		return "stopping the old members"
	case AdoptSeed:
		return "the seed is the cluster now, with ID " + step.ClusterID + s.tooLate()
	case CompleteRestore:
		return "the restored cluster serves at its full size" + s.tooLate()
	case FailRestore:
		return step.Message
	}
	return recoveryMessage(step)
}

func recoveryMessage(step Step) string {
	switch step := step.(type) {
	case BeginRecovery:
		return fmt.Sprintf("quorum is lost, and by spec.recovery.quorumLoss the cluster goes on from member %s, which knows most (raft index %d, term %d)", step.Member, step.RaftIndex, step.RaftTerm)
	case RecordForced:
		return fmt.Sprintf("the survivor serves alone at revision %d; the cluster grows from it", step.Revision)
	case CancelRecovery:
		return "the recovery is called off: " + step.Message
	case CompleteRecovery:
		return "the recovered cluster serves at its full size"
	case ForgetPod:
		return "member " + step.Name + " was removed and its host does not confirm that it stopped: forgetting its Pod"
	}
	return ""
}

func versionMessage(step Step) string {
	switch step := step.(type) {
	case EnableDowngrade:
		return fmt.Sprintf("preparing the members' data for %s: etcd takes it down to %s while they serve", step.For, minor(step.To))
	case CancelDowngrade:
		return "etcd's data need not stay down at " + step.From + ": taking the cluster's version back up"
	case RecordVersionChange:
		switch step.Step {
		case v1beta2.VersionChangePreparing:
			return "preparing the members' data for " + step.To
		case v1beta2.VersionChangeSnapshotted:
			return "every member has a raft snapshot that " + step.To + " can start from"
		}
		return "the members' data is ready for " + step.To
	}
	return ""
}

func removeMessage(s State, step RemoveMember) string {
	if step.Replace != "" {
		return "removing member " + step.Name + ", because " + step.Replace + "; a new one takes its place"
	}
	return fmt.Sprintf("removing member %s to shrink to %d", step.Name, s.Spec.Size)
}

// event is one line for people, in the words of events.k8s.io: why, and what was done.
type Event struct{ Kind, Reason, Action, Note string }

// eventsOf says what a pass did. Waiting is said once, when the status changed with it.
func EventsOf(s State, step Step, actErr error, statusChanged bool) []Event {
	note := MessageOf(s, step)
	if actErr != nil {
		if !statusChanged {
			return nil
		}
		return []Event{{corev1.EventTypeWarning, v1beta2.ReasonReconcileError, "Reconcile", actErr.Error()}}
	}
	switch step := step.(type) {
	case Wait:
		if !statusChanged || !step.Stalled {
			return nil
		}
		return []Event{{corev1.EventTypeWarning, step.Why, "Wait", note}}
	case FailRestore:
		return []Event{{corev1.EventTypeWarning, "RestoreFailed", "Restore", note}}
	case BeginRecovery:
		return []Event{{corev1.EventTypeWarning, "RecoveryStarted", "Recover", note}}
	case CancelRecovery:
		return []Event{{corev1.EventTypeWarning, "RecoveryCancelled", "Recover", note}}
	}
	if reason, ok := eventReason(step); ok {
		return []Event{{corev1.EventTypeNormal, reason, step.Reason(), note}}
	}
	return nil
}

// eventReason names the steps that users want to read about.
func eventReason(step Step) (string, bool) {
	switch step := step.(type) {
	case CreateVolumes:
		return "CreatingVolumes", true
	case CreateMembers:
		return "CreatingMembers", true
	case CreateMember:
		return "StartingMember", true
	case RecordFormed:
		return "ClusterFormed", true
	case AddLearner:
		return "AddingMember", true
	case MoveLeader:
		return "MovingLeader", true
	case RemoveMember:
		if step.Replace != "" {
			return "ReplacingMember", true
		}
		return "RemovingMember", true
	case DeletePod:
		return "StoppingMember", true
	case EnableDowngrade:
		return "PreparingVersionChange", true
	case CancelDowngrade:
		return "DowngradeCancelled", true
	case RecordVersionChange:
		return "VersionChangePrepared", step.Step == v1beta2.VersionChangeReady
	case DeleteVolume:
		return "DeletingVolume", true
	case ResizeVolume:
		return "GrowingVolume", true
	case BeginRestore:
		return "RestoreStarted", true
	case BeginSwitch:
		return "RestoreSwitching", true
	case AdoptSeed:
		return "RestoreSwitched", true
	case CompleteRestore:
		return "RestoreComplete", true
	}
	if reason, ok := certificateReason(step); ok {
		return reason, true
	}
	return recoveryReason(step)
}

func certificateReason(step Step) (string, bool) {
	switch step.(type) {
	case MakeAuthority:
		return "MakingAuthority", true
	case ReplaceAuthority:
		return "ReplacingAuthority", true
	case ForgetAuthority:
		return "ForgettingAuthority", true
	case HandOutCertificates:
		return "WritingCertificates", true
	}
	return "", false
}

func spaceReason(step Step) (string, bool) {
	switch step := step.(type) {
	case CompactHistory:
		return "CompactingHistory", true
	case DefragmentMember:
		return "DefragmentingMember", true
	case DisarmAlarm:
		return "DisarmingAlarm", true
	case EndDefragmentation:
		return "DefragmentationLeftOut", step.Late
	}
	return "", false
}

func recoveryReason(step Step) (string, bool) {
	switch step.(type) {
	case RecordForced:
		return "RecoveryForced", true
	case CompleteRecovery:
		return "RecoveryComplete", true
	case ForgetPod:
		return "ForgettingPod", true
	}
	return spaceReason(step)
}
