package plan

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Asked is what annotations on the EtcdCluster ask for, by names of members. They stand on the EtcdCluster and not on a
// Pod, because they outlive Pods, and because who may write the spec need not be who may write Pods. They ask for a state,
// so they may stay: a name that no member has is ignored, and no new member gets it.
type Asked struct {
	// RemoveForeign are names or IDs of foreign members that may be removed.
	RemoveForeign []string
	// StoppedForeign are IDs of foreign members that have stopped, as a person says.
	StoppedForeign []string
	// Replace are members that another one replaces. MoveLeader are those that should not lead. Fence are those that the
	// client Service does not select, and that are not replaced.
	Replace, MoveLeader, Fence []string
	// AcceptVolumes are UIDs of PersistentVolumeClaims that members may start on, although they served on other ones before.
	AcceptVolumes []string
}

// NewAsked reads the annotations of an EtcdCluster.
func NewAsked(annotations map[string]string) Asked {
	return Asked{
		RemoveForeign:  names(annotations[v1beta2.AnnotationRemoveForeign]),
		StoppedForeign: names(annotations[v1beta2.AnnotationStoppedForeign]),
		Replace:        names(annotations[v1beta2.AnnotationReplace]),
		MoveLeader:     names(annotations[v1beta2.AnnotationMoveLeader]),
		Fence:          names(annotations[v1beta2.AnnotationFence]),
		AcceptVolumes:  names(annotations[v1beta2.AnnotationAcceptVolumes]),
	}
}

// names of a list with commas or white space between them. Empty names are dropped.
func names(list string) []string {
	named := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	slices.Sort(named)
	return slices.Compact(named)
}

// named reports whether an annotation asks for something about a member of that name, so that no new one gets it.
func (a Asked) named(member string) bool {
	return slices.Contains(a.Replace, member) || slices.Contains(a.MoveLeader, member) || slices.Contains(a.Fence, member)
}

// askedFor is the cause of a replacement.
const askedFor = "annotation " + v1beta2.AnnotationReplace + " asks for it"

// replacementAsked reports whether another member is to take the place of this one, and is not to be fenced either.
func (s State) replacementAsked(m Member) bool {
	return slices.Contains(s.Asked.Replace, m.Name) && !slices.Contains(s.Asked.Fence, m.Name)
}

// roomForFences is how many of n members may be fenced. n is the same before and after a member is replaced or the cluster
// shrinks, so that no fence is lifted in between.
func roomForFences(n int) int { return n - etcd.Quorum(n) }

// keepsFences reports whether the cluster may have as many fenced members as the annotation names, once it has its size.
func (s State) keepsFences() bool {
	asked := s.where(func(m Member) bool { return m.Incarnation == s.Incarnation && slices.Contains(s.Asked.Fence, m.Name) })
	return len(asked) <= roomForFences(max(s.Spec.Size, 1))
}

// Fenced reports whether the client Service must not select a member. The Service and its PodDisruptionBudget keep a
// quorum: if more members are to be fenced, the first by name are.
func (s State) Fenced(member string) bool { return slices.Contains(s.fenced(), member) }

func (s State) fenced() []string {
	voters := s.where(func(m Member) bool { return m.Incarnation == s.Incarnation && m.InMembership && !m.Learner })
	if !s.MembershipKnown {
		voters = s.where(func(m Member) bool { return m.Incarnation == s.Incarnation && slices.Contains(s.KnownVoters, m.Name) })
	}
	room := min(roomForFences(max(len(voters), s.Spec.Size)), len(voters)-1)
	var fenced []string
	for _, m := range voters {
		if slices.Contains(s.Asked.Fence, m.Name) && len(fenced) < room {
			fenced = append(fenced, m.Name)
		}
	}
	return fenced
}

// saysFenced names the fenced members of a cluster that is done.
func (s State) saysFenced() string {
	fenced := s.fenced()
	if len(fenced) == 0 {
		return ""
	}
	return " The client Service does not select " + strings.Join(fenced, ", ") + ", because annotation " + v1beta2.AnnotationFence + " asks for it."
}

// RemoveFromService takes a member out of the client Service.
type RemoveFromService struct{ Name string }

func (step RemoveFromService) describe(s State) planning.Description {
	cause, event := "annotation "+v1beta2.AnnotationFence+" asks for it", "FencingMember"
	if m, _ := s.member(step.Name); m.Learner {
		cause, event = "it does not vote yet and refuses most requests", "WithdrawingLearner"
	}
	return announced(planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: "The operator is taking member " + step.Name + " out of the client Service, because " + cause + ".",
		Requeue: requeueSoon,
	}, event, planning.Pod(step.Name))
}

// fenceMembers takes fenced members out of the client Service while another one serves in it. A learner is never in it, and
// if its Pod has the label nevertheless, the PodDisruptionBudget counts it as a voter.
func fenceMembers(s State) Step {
	if m, is := s.learner(); is && m.InService && m.Pod == PodRunning {
		return RemoveFromService{Name: m.Name}
	}
	serves := slices.ContainsFunc(s.Current(), func(m Member) bool { return m.Serving && m.InService && !s.Fenced(m.Name) })
	for _, m := range s.Current() {
		if serves && m.InService && m.Pod == PodRunning && s.Fenced(m.Name) && s.may(RemoveFromService{Name: m.Name}) {
			return RemoveFromService{Name: m.Name}
		}
	}
	return nil
}

// shouldNotLead reports whether leadership is to move from a member.
func (s State) shouldNotLead(member string) bool {
	return slices.Contains(s.Asked.MoveLeader, member) || s.Fenced(member)
}

// moveLeaderAsked hands leadership over because an annotation asks for it. It comes after all changes that move leadership
// themselves, so that these do not move it back.
func moveLeaderAsked(s State) Step {
	leader, ok := s.leader()
	if !ok || !s.shouldNotLead(leader.Name) {
		return nil
	}
	if move, is := s.moveLeader(leader).(MoveLeader); is && !s.shouldNotLead(move.Name) {
		return move
	}
	return nil
}

// reportRefused names what annotations ask for and the operator does not do, because it could leave no quorum.
func reportRefused(s State) Step {
	if !s.MembershipKnown {
		return nil
	}
	for _, m := range s.Current() {
		if m.InMembership && !m.Learner && slices.Contains(s.Asked.Fence, m.Name) && !s.Fenced(m.Name) {
			return s.refused(v1beta2.AnnotationFence, fmt.Sprintf("to fence member %s. The client Service must keep a quorum, %d of %d voters. Remove a name from the annotation, or raise spec.size.",
				m.Name, etcd.Quorum(s.Voters().Total), s.Voters().Total))
		}
	}
	if leader, ok := s.leader(); ok && slices.Contains(s.Asked.MoveLeader, leader.Name) {
		return s.refused(v1beta2.AnnotationMoveLeader, "that member "+leader.Name+" does not lead, but no other voter can lead. Remove a name from the annotation, or raise spec.size.")
	}
	return nil
}

func (s State) refused(annotation, what string) Step {
	return Wait{
		Reason: v1beta2.ReasonRequestRefused, Stalled: true, Requeue: requeueForeign,
		Message: "Annotation " + annotation + " asks " + what + " The members serve as before.",
	}
}
