package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

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

// startMember creates the Pod of a member that should run and has none. A member that has started before restarts
// only with its data.
func startMember(s state.State) Step {
	if !s.Formed() || s.Switching() {
		return nil
	}
	noVolume := false
	for _, m := range dataFirst(s) {
		start, ok := state.StartOf(s, m)
		switch {
		case m.Pod != state.PodNone || m.Volume == state.VolumeDeleting || !ok:
		case m.Volume == state.VolumeNone && s.Durable() && s.NoStorageClass:
			noVolume = true
		default:
			create := CreateMember{Name: m.Name, Incarnation: m.Incarnation, Start: start}
			if may(s, create) {
				return create
			}
		}
	}
	if noVolume {
		return noStorageClass()
	}
	return nil
}

// dataFirst returns the current members, those with data first. If the API server refuses the Pod or the volume of a new
// member, the others must be running by then.
func dataFirst(s state.State) []state.Member {
	sorted := slices.Clone(s.Current())
	slices.SortStableFunc(sorted, func(a, b state.Member) int { return cmp.Compare(rank(!s.HoldsData(a)), rank(!s.HoldsData(b))) })
	return sorted
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

// promoteLearner gives a learner its vote. If the cluster must shrink, the learner is removed first instead. etcd refuses
// until the learner has caught up.
func promoteLearner(s state.State) Step {
	if s.Surplus() > len(leavingMembers(s)) {
		return nil
	}
	for _, m := range s.Membership() {
		if m.Learner && m.Started && m.Answers && leavingCause(s, m) == "" {
			if wait := outgrowsBudget(s, m); wait != nil {
				return wait
			}
			if s.Promoting != m.Name {
				return RecordPromotion{Name: m.Name}
			}
			return PromoteLearner{ID: m.ID, Name: m.Name}
		}
	}
	return nil
}

// removeOrphanPods stops Pods that are in no membership: of removed members, and of incarnations that are over.
func removeOrphanPods(s state.State) Step {
	if !s.MembershipKnown {
		return nil
	}
	for _, m := range s.Members {
		over := m.Incarnation <= s.Incarnation && !m.InMembership && !keepsWaiting(s, m)
		if over && m.Pod != state.PodNone && m.Pod != state.PodDeleting {
			cause := "it is no longer a member of the cluster"
			if m.Waits {
				cause = "etcd has not added it, and this Pod is no longer needed: the spec has changed, or its volume is being deleted"
			}
			if remove := (DeletePod{Name: m.Name, Reason: v1beta2.ReasonScaling, Message: cause, Briefly: m.Incarnation < s.Incarnation}); may(s, remove) {
				return remove
			}
		}
	}
	return nil
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

// waitForRemovedPods waits for the Pods of removed members, so that a Ready cluster has as many Pods as members. If a node
// does not confirm that a Pod stopped, the operator deletes the Pod by force: the other members no longer count its vote.
func waitForRemovedPods(s state.State) Step {
	for _, m := range s.Current() {
		if !s.MembershipKnown || m.InMembership || m.Pod != state.PodDeleting || (m.Held && state.Overdue(s, m)) {
			continue
		}
		if state.Overdue(s, m) {
			return ForceDeletePod{Name: m.Name}
		}
		return waitUntilGone(s, m, v1beta2.ReasonScaling, "Member "+m.Name+" was removed, and its Pod is stopping.")
	}
	return nil
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

// deleteOldVolumes deletes volumes of removed members and of old incarnations. When this rule is asked, the cluster is
// healthy and has its full size, so the replacements are proven.
func deleteOldVolumes(s state.State) Step {
	if !s.MembershipKnown || s.Surplus() > 0 || !state.LeadsClients(s) {
		return nil
	}
	for _, m := range s.Members {
		over := m.Incarnation <= s.Incarnation && !m.InMembership
		if over && m.Pod == state.PodNone && (m.Volume == state.VolumePresent || m.Volume == state.VolumeLost) {
			var step Step = DeleteVolume{Name: m.Name, Reason: v1beta2.ReasonScaling}
			if state.SetsAside(s, m) && m.Volume == state.VolumePresent {
				step = SetAsideVolume{Name: m.Name}
			}
			if may(s, step) {
				return step
			}
		}
	}
	return nil
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

// moveLeader hands leadership to a healthy voter. It prefers one that is not about to be replaced.
func moveLeader(s state.State, from state.Member) Step {
	var move Step
	for _, m := range s.Membership() {
		if m.Learner || !m.Serving || m.ID == from.ID {
			continue
		}
		if leavingCause(s, m) == "" && !state.ShouldNotLead(s, m.Name) {
			return MoveLeader{From: from.Name, To: m.ID, Name: m.Name}
		}
		if move == nil {
			move = MoveLeader{From: from.Name, To: m.ID, Name: m.Name}
		}
	}
	return move
}
