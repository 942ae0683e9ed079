package state

import (
	"slices"
	"strings"
	"unicode"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

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

// Named reports whether an annotation asks for something about a member of that name, so that no new one gets it.
func (a Asked) Named(member string) bool {
	return slices.Contains(a.Replace, member) || slices.Contains(a.MoveLeader, member) || slices.Contains(a.Fence, member)
}

// AskedFor is the cause of a replacement.
const AskedFor = "annotation " + v1beta2.AnnotationReplace + " asks for it"

// ReplacementAsked reports whether another member is to take the place of this one, and is not to be fenced either.
func ReplacementAsked(s State, m Member) bool {
	return slices.Contains(s.Asked.Replace, m.Name) && !slices.Contains(s.Asked.Fence, m.Name)
}

// roomForFences is how many of n members may be fenced. n is the same before and after a member is replaced or the cluster
// shrinks, so that no fence is lifted in between.
func roomForFences(n int) int { return n - etcd.Quorum(n) }

// KeepsFences reports whether the cluster may have as many fenced members as the annotation names, once it has its size.
func KeepsFences(s State) bool {
	asked := s.Where(func(m Member) bool { return m.Incarnation == s.Incarnation && slices.Contains(s.Asked.Fence, m.Name) })
	return len(asked) <= roomForFences(max(s.Spec.Size, 1))
}

// Fenced reports whether the client Service must not select a member. The Service and its PodDisruptionBudget keep a
// quorum: if more members are to be fenced, the first by name are.
func (s State) Fenced(member string) bool { return slices.Contains(fenced(s), member) }

func fenced(s State) []string {
	voters := s.Where(func(m Member) bool { return m.Incarnation == s.Incarnation && m.InMembership && !m.Learner })
	if !s.MembershipKnown {
		voters = s.Where(func(m Member) bool { return m.Incarnation == s.Incarnation && slices.Contains(s.KnownVoters, m.Name) })
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

// SaysFenced names the fenced members of a cluster that is done.
func SaysFenced(s State) string {
	fenced := fenced(s)
	if len(fenced) == 0 {
		return ""
	}
	return " The client Service does not select " + strings.Join(fenced, ", ") + ", because annotation " + v1beta2.AnnotationFence + " asks for it."
}

// ShouldNotLead reports whether leadership is to move from a member.
func ShouldNotLead(s State, member string) bool {
	return slices.Contains(s.Asked.MoveLeader, member) || s.Fenced(member)
}

// Named reports whether the operator made a member's name for that incarnation of this EtcdCluster.
func Named(s State, member string, incarnation int32) bool {
	return Ordinal(s, Member{Name: member, Incarnation: incarnation}) < MaxOrdinal
}

// AddedByOthers reports whether an entry of the membership is of a foreign member. The operator's members have names that
// contain a hash of the EtcdCluster's UID. Anybody can start a member with such a name, so its peer URL counts, too. there is
// the member of this cluster that has a Pod or a volume of that name. If it told its ID, or the status recorded it, that
// decides: a person may have changed its peer URL, and the member may be down.
func AddedByOthers(s State, entry etcd.Member, there *Member) bool {
	name := NameOf(s, entry)
	named := Named(s, name, max(s.Incarnation, FirstIncarnation))
	switch {
	case !named:
		return there == nil
	case len(entry.PeerURLs) == 0 || advertisedBy(s, name, entry.PeerURLs) || (s.KnownIDs[name] == entry.ID && (there == nil || there.ID == 0)):
		return false
	}
	return there == nil || there.ID != entry.ID
}

// NextName is the first name of the current incarnation that nothing carries: no Pod, no volume, no member,
// no annotation, and no survivor of a cancelled recovery. It is empty if all names are taken by which the operator recognises its own members.
func NextName(s State) string {
	taken := make(map[string]bool, len(s.Members))
	for _, m := range s.Members {
		taken[m.Name] = true
	}
	for _, v := range s.SetAside {
		taken[v.Name] = true
	}
	for _, c := range s.CancelledSurvivors { // its volume may come back
		taken[c.Member] = true
	}
	for ordinal := range MaxOrdinal {
		if name := MemberName(s.Name, s.UID, s.Incarnation, ordinal); !taken[name] && !s.Asked.Named(name) {
			return name
		}
	}
	return ""
}

// Enroll joins the membership, as a quorum of the current incarnation told it, with the Pods and volumes. A member
// that has not started may have no name in etcd; its peer URL tells which it is.
func Enroll(s *State, membership []etcd.Member) {
	s.MembershipKnown = true
	at := make(map[string]int, len(s.Members))
	for i, m := range s.Members {
		at[m.Name] = i
	}
	known := s.ForeignMembers
	s.ForeignMembers = nil
	for _, entry := range membership {
		name := NameOf(*s, entry)
		i, ok := at[name]
		var there *Member
		if ok {
			there = &s.Members[i]
		}
		if AddedByOthers(*s, entry, there) {
			RecordForeign(s, entry, known)
			continue
		}
		if !ok {
			i = len(s.Members)
			s.Members = append(s.Members, Member{Name: name, Incarnation: max(s.Incarnation, FirstIncarnation)})
		}
		m := &s.Members[i]
		m.InMembership = true
		m.ID = entry.ID
		m.Learner = entry.Learner
		m.Started = len(entry.ClientURLs) > 0
	}
}
