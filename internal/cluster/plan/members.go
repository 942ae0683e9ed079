package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// CreateMember makes a member's Pod, and its volume first if it has none.
type CreateMember struct {
	Name        string
	Incarnation int32
	InitialSize int
	Start       Start
	// Waits: its Pod starts etcd only after etcd has added the member.
	Waits bool
}

func (step CreateMember) describe(State) planning.Description {
	d := planning.Description{
		Reason:  v1beta2.ReasonMemberDown,
		Message: fmt.Sprintf("The operator is creating the Pod of member %s (%s).", step.Name, step.Start),
		Requeue: requeueSoon,
	}
	if step.Waits {
		d.Message = "The operator is creating the Pod of new member " + step.Name + ". The Pod starts etcd when etcd has added the member."
	}
	switch step.Start {
	case StartSeed:
		d.Reason = v1beta2.ReasonRestoring
	case StartJoin:
		d.Reason = v1beta2.ReasonScaling
	case StartForce:
		d.Reason = v1beta2.ReasonRecovering
	case StartNew, StartRejoin:
	}
	return announced(d, "StartingMember", planning.Pod(step.Name))
}

// startMember creates the Pod of a member that should run and has none. A member that has started before restarts
// only with its data.
func startMember(s State) Step {
	if !s.Formed() || s.switching() {
		return nil
	}
	noVolume := false
	for _, m := range s.dataFirst() {
		start, ok := s.startOf(m)
		switch {
		case m.Pod != PodNone || m.Volume == VolumeDeleting || !ok:
		case m.Volume == VolumeNone && s.Durable() && s.NoStorageClass:
			noVolume = true
		default:
			create := CreateMember{Name: m.Name, Incarnation: m.Incarnation, Start: start}
			if s.may(create) {
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
func (s State) dataFirst() []Member {
	sorted := slices.Clone(s.Current())
	slices.SortStableFunc(sorted, func(a, b Member) int { return cmp.Compare(rank(!s.HoldsData(a)), rank(!s.HoldsData(b))) })
	return sorted
}

// startOf says how a member without a Pod may start. It returns false if the member may not start.
func (s State) startOf(m Member) (Start, bool) {
	held := s.onVolume(m) && (m.InMembership || !m.VolumeUnused)
	switch {
	case s.besideSurvivor(m):
		return "", false
	case !s.MembershipKnown:
		// No quorum answers: only members that hold data start.
		return StartRejoin, held
	case !m.InMembership:
		return "", false
	case m.Started:
		return StartRejoin, held
	default:
		return StartJoin, held || s.justAdded(m)
	}
}

// justAdded says whether a member that has not started was added to a formed cluster, and so has never voted. A
// voter that was there from the beginning may have voted before it could say that it started.
func (s State) justAdded(m Member) bool {
	return m.Learner || !supportsLearners(s.lowestVersion())
}

// PromoteLearner gives a learner its vote.
type PromoteLearner struct {
	ID   etcd.ID
	Name string
}

func (step PromoteLearner) describe(State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "Member " + step.Name + " is catching up with the leader. It votes after that.",
		Requeue: requeueSoon,
	}
}

// promoteLearner gives a learner its vote. If the cluster must shrink, the learner is removed first instead. etcd refuses
// until the learner has caught up.
func promoteLearner(s State) Step {
	if s.surplus() > len(s.leavingMembers()) {
		return nil
	}
	for _, m := range s.membership() {
		if m.Learner && m.Started && m.Answers && s.leavingCause(m) == "" {
			if wait := s.outgrowsBudget(m); wait != nil {
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

// membership is what etcd knows of the current incarnation.
func (s State) membership() []Member {
	return s.where(func(m Member) bool { return m.Incarnation == s.Incarnation && m.InMembership })
}

// removeOrphanPods stops Pods that are in no membership: of removed members, and of incarnations that are over.
func removeOrphanPods(s State) Step {
	if !s.MembershipKnown {
		return nil
	}
	for _, m := range s.Members {
		over := m.Incarnation <= s.Incarnation && !m.InMembership && !s.keepsWaiting(m)
		if over && m.Pod != PodNone && m.Pod != PodDeleting {
			cause := "it is no longer a member of the cluster"
			if m.Waits {
				cause = "etcd has not added it, and this Pod is no longer needed: the spec has changed, or its volume is being deleted"
			}
			if remove := (DeletePod{Name: m.Name, Reason: v1beta2.ReasonScaling, Message: cause, Briefly: m.Incarnation < s.Incarnation}); s.may(remove) {
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

func (step ForceDeletePod) describe(State) planning.Description {
	if step.Stopped {
		return planning.Description{
			Reason:  v1beta2.ReasonMemberDown,
			Message: "Member " + step.Name + " has stopped. The operator deletes the object of its Pod, and then starts the member again.",
			Requeue: requeueSoon,
		}
	}
	return announced(planning.Description{
		Reason:  v1beta2.ReasonReplacingMember,
		Message: "Member " + step.Name + " was removed, and its node does not confirm that it stopped. The operator deletes its Pod by force, because its vote no longer counts.",
		Requeue: requeueSoon,
	}, "ForgettingPod", planning.Pod(step.Name))
}

// waitForRemovedPods waits for the Pods of removed members, so that a Ready cluster has as many Pods as members. If a node
// does not confirm that a Pod stopped, the operator deletes the Pod by force: the other members no longer count its vote.
func waitForRemovedPods(s State) Step {
	for _, m := range s.Current() {
		if !s.MembershipKnown || m.InMembership || m.Pod != PodDeleting || (m.Held && s.overdue(m)) {
			continue
		}
		if s.overdue(m) {
			return ForceDeletePod{Name: m.Name}
		}
		return s.waitUntilGone(m, v1beta2.ReasonScaling, "Member "+m.Name+" was removed, and its Pod is stopping.")
	}
	return nil
}

// DeleteVolume deletes a volume that is proven not to be needed any more.
type DeleteVolume struct{ Name, Reason string }

func (step DeleteVolume) describe(State) planning.Description {
	return announced(planning.Description{
		Reason:  step.Reason,
		Message: "The operator is deleting volume " + step.Name + ", which is not needed any more.",
		Requeue: requeueSoon,
	}, "DeletingVolume", planning.Volume(step.Name))
}

// deleteOldVolumes deletes volumes of removed members and of old incarnations. When this rule is asked, the cluster is
// healthy and has its full size, so the replacements are proven.
func deleteOldVolumes(s State) Step {
	if !s.MembershipKnown || s.surplus() > 0 || !s.leadsClients() {
		return nil
	}
	for _, m := range s.Members {
		over := m.Incarnation <= s.Incarnation && !m.InMembership
		if over && m.Pod == PodNone && (m.Volume == VolumePresent || m.Volume == VolumeLost) {
			var step Step = DeleteVolume{Name: m.Name, Reason: v1beta2.ReasonScaling}
			if s.setsAside(m) && m.Volume == VolumePresent {
				step = SetAsideVolume{Name: m.Name}
			}
			if s.may(step) {
				return step
			}
		}
	}
	return nil
}

// leader returns the member of the current incarnation that reports to be the leader.
func (s State) leader() (Member, bool) {
	for _, m := range s.membership() {
		if m.Leader {
			return m, true
		}
	}
	return Member{}, false
}

// MoveLeader hands leadership from one member to another.
type MoveLeader struct {
	From string
	To   etcd.ID
	Name string
}

func (step MoveLeader) describe(State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "The operator is moving leadership from " + step.From + " to " + step.Name + ".",
		Requeue: requeueSoon,
	}, "MovingLeader", planning.Pod(step.From))
}

// moveLeader hands leadership to a healthy voter. It prefers one that is not about to be replaced.
func (s State) moveLeader(from Member) Step {
	var move Step
	for _, m := range s.membership() {
		if m.Learner || !m.Serving || m.ID == from.ID {
			continue
		}
		if s.leavingCause(m) == "" && !s.shouldNotLead(m.Name) {
			return MoveLeader{From: from.Name, To: m.ID, Name: m.Name}
		}
		if move == nil {
			move = MoveLeader{From: from.Name, To: m.ID, Name: m.Name}
		}
	}
	return move
}

// learner is the member that has no vote yet. There is at most one that the operator added.
func (s State) learner() (Member, bool) {
	for _, m := range s.membership() {
		if m.Learner {
			return m, true
		}
	}
	return Member{}, false
}
