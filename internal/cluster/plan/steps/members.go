package steps

import (
	"fmt"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// DataGone reports whether the member is removed because nothing of its data is left.
func (step RemoveMember) DataGone() bool { return step.Cause == state.LostData }

// CreateVolumes makes the volumes of the members that form a cluster. It keeps those that exist.
type CreateVolumes struct {
	Incarnation int32
	Size        int
}

func (step CreateVolumes) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonCreating,
		Message: fmt.Sprintf("The operator is creating the volumes of %d members.", step.Size),
		Requeue: state.RequeueSoon,
	}, "CreatingVolumes", cluster)
}

// BeginBootstrap records that those volumes all exist, before any Pod does.
type BeginBootstrap struct{ Incarnation int32 }

func (BeginBootstrap) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonCreating,
		Message: "All volumes exist. The members can start.",
		Requeue: state.RequeueSoon,
	}
}

// CreateMembers makes the Pods of the members that form a cluster and have their volume.
type CreateMembers struct {
	Incarnation int32
	Size        int
}

func (step CreateMembers) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonCreating,
		Message: fmt.Sprintf("The operator is creating the Pods of %d members.", step.Size),
		Requeue: state.RequeueSoon,
	}, "CreatingMembers", cluster)
}

// RecordFormed keeps the cluster's ID.
type RecordFormed struct {
	ClusterID   string
	Incarnation int32
}

func (step RecordFormed) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonCreating,
		Message: "The cluster has formed with ID " + step.ClusterID + ".",
		Requeue: state.RequeueSoon,
	}, "ClusterFormed", cluster)
}

// ReplacesLost reports whether the step begins the replacement of a member that was lost.
func (step RemoveMember) ReplacesLost() bool { return step.Unresponsive() || step.DataGone() }

// CreateMember makes a member's Pod, and its volume first if it has none.
type CreateMember struct {
	Name        string
	Incarnation int32
	InitialSize int
	Start       state.Start
	// Waits: its Pod starts etcd only after etcd has added the member.
	Waits bool
}

func (step CreateMember) describe(state.State) planning.Description {
	d := planning.Description{
		Reason:  v1beta2.ReasonMemberDown,
		Message: fmt.Sprintf("The operator is creating the Pod of member %s (%s).", step.Name, step.Start),
		Requeue: state.RequeueSoon,
	}
	if step.Waits {
		d.Message = "The operator is creating the Pod of new member " + step.Name + ". The Pod starts etcd when etcd has added the member."
	}
	switch step.Start {
	case state.StartSeed:
		d.Reason = v1beta2.ReasonRestoring
	case state.StartJoin:
		d.Reason = v1beta2.ReasonScaling
	case state.StartForce:
		d.Reason = v1beta2.ReasonRecovering
	case state.StartNew, state.StartRejoin:
	}
	return announced(d, "StartingMember", planning.Pod(step.Name))
}

// PromoteLearner gives a learner its vote.
type PromoteLearner struct {
	ID   etcd.ID
	Name string
}

func (step PromoteLearner) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "Member " + step.Name + " is catching up with the leader. It votes after that.",
		Requeue: state.RequeueSoon,
	}
}

// ForceDeletePod deletes the object of a Pod without the kubelet: of a removed member whose node does not confirm that it
// stopped, or of a member that has stopped.
type ForceDeletePod struct {
	Name string
	// Stopped: the kubelet has confirmed that nothing of the Pod runs any more.
	Stopped bool
}

func (step ForceDeletePod) describe(state.State) planning.Description {
	if step.Stopped {
		return planning.Description{
			Reason:  v1beta2.ReasonMemberDown,
			Message: "Member " + step.Name + " has stopped. The operator deletes the object of its Pod, and then starts the member again.",
			Requeue: state.RequeueSoon,
		}
	}
	return announced(planning.Description{
		Reason:  v1beta2.ReasonReplacingMember,
		Message: "Member " + step.Name + " was removed, and its node does not confirm that it stopped. The operator deletes its Pod by force, because its vote no longer counts.",
		Requeue: state.RequeueSoon,
	}, "ForgettingPod", planning.Pod(step.Name))
}

// DeleteVolume deletes a volume that is proven not to be needed any more.
type DeleteVolume struct{ Name, Reason string }

func (step DeleteVolume) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  step.Reason,
		Message: "The operator is deleting volume " + step.Name + ", which is not needed any more.",
		Requeue: state.RequeueSoon,
	}, "DeletingVolume", planning.Volume(step.Name))
}

// MoveLeader hands leadership from one member to another.
type MoveLeader struct {
	From string
	To   etcd.ID
	Name string
}

func (step MoveLeader) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "The operator is moving leadership from " + step.From + " to " + step.Name + ".",
		Requeue: state.RequeueSoon,
	}, "MovingLeader", planning.Pod(step.From))
}

// RecordPromotion records that a member is about to vote, before it does: if quorum is lost in the next moment, the number
// of voters decides what the others may do.
type RecordPromotion struct{ Name string }

func (step RecordPromotion) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "Member " + step.Name + " is about to get its vote.",
		Requeue: state.RequeueSoon,
	}
}

// BeginRemoval records that a voter is about to be removed. If the operator ends after the removal, and before it can record
// it, the record has one voter too many. An even number of voters needs a larger quorum than one voter less, so the operator
// would take a quorum for lost that can still form.
type BeginRemoval struct {
	// Voter is the name of the member, or the ID of a foreign one.
	Voter string
	// Name is what people call it.
	Name string
}

func (step BeginRemoval) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "Member " + step.Name + " is about to be removed.",
		Requeue: state.RequeueSoon,
	}
}

// RemoveMember takes a member out of the membership.
type RemoveMember struct {
	ID   etcd.ID
	Name string
	// Cause says why another takes its place. It is empty if the cluster shrinks.
	Cause string
	// TooSlow: it is a learner that did not catch up, which the status counts.
	TooSlow bool
	// Foreign: the operator did not add it, and no other takes its place.
	Foreign bool
}

func (step RemoveMember) describe(s state.State) planning.Description {
	d := planning.Description{Requeue: state.RequeueSoon}
	if step.Cause == "" {
		d.Reason = v1beta2.ReasonScaling
		d.Message = fmt.Sprintf("The operator is removing member %s to shrink the cluster to %d members.", step.Name, s.Spec.Size)
		return announced(d, "RemovingMember", planning.Pod(step.Name))
	}
	if step.Foreign {
		d.Reason, d.Message = v1beta2.ReasonForeignMember, "The operator is removing member "+step.Name+", because "+step.Cause+"."
		return announced(d, "RemovingForeignMember", cluster)
	}
	d.Reason = v1beta2.ReasonReplacingMember
	d.Message = "The operator is removing member " + step.Name + ", because " + step.Cause + ". A new member takes its place."
	return announced(d, "ReplacingMember", planning.Pod(step.Name))
}

// Unresponsive reports whether the member is removed because it does not serve.
func (step RemoveMember) Unresponsive() bool { return strings.HasPrefix(step.Cause, state.NotServed) }

// AddLearner adds a member to the membership.
type AddLearner struct {
	Name, PeerURL string
	// Voter starts it, and adds it with a vote at once, for etcd older than 3.4.
	Voter bool
}

func (step AddLearner) describe(s state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "The operator is adding member " + step.Name + inPlace(s) + ".",
		Requeue: state.RequeueSoon,
	}, "AddingMember", planning.Pod(step.Name))
}
