package state

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Places of data. Whoever stops the Pod of a member with InPodOnly deletes that data.
const (
	// NoData: the member has never had data, or nothing of it is left.
	NoData Data = ""
	// OnVolume: its next Pod has the data.
	OnVolume Data = "OnVolume"
	// InPodOnly: the data exists as long as its Pod does.
	InPodOnly Data = "InPodOnly"
)

// Same reports whether two claims have the same data behind them. A claim that was created again for the same PersistentVolume has, and
// one that has the UID of the other is the same claim: its PersistentVolume was bound later. What is not known does not differ.
func (id VolumeID) Same(other VolumeID) bool {
	if id.Volume != "" && other.Volume != "" {
		return id.Volume == other.Volume
	}
	return id.Claim == "" || other.Claim == "" || id.Claim == other.Claim
}

// Durable says whether members keep their data apart from their Pods.
func (s State) Durable() bool { return s.Spec.Pod == nil || s.Spec.Pod.EmptyDir == nil }

// InPod says whether the data of a member is in its Pod. The spec decides only about Pods that are yet to be created.
func InPod(s State, m Member) bool { return m.DataInPod || !s.Durable() }

// ServedOn returns the volume that a member was last seen to serve on. It is not known for a member of an earlier release that has not
// served since, nor if the status was lost. A record of an earlier member of the same name does not count.
func ServedOn(s State, m Member) (VolumeID, bool) {
	id, known := s.KnownVolumes[m.Name]
	if was := s.KnownIDs[m.Name]; m.ID != 0 && was != 0 && was != m.ID {
		return VolumeID{}, false
	}
	return id, known
}

// CanCompareData says whether a member can be asked for its hash.
func (m Member) CanCompareData(incarnation int32) bool {
	return m.Incarnation == incarnation && m.InMembership && !m.Learner && m.Answers
}

// CommonRevision is the one that all voters that answer have reached.
func CommonRevision(s State) (revision int64, ok bool) {
	for _, m := range s.Members {
		if m.CanCompareData(s.Incarnation) && (!ok || m.Revision < revision) {
			revision, ok = m.Revision, true
		}
	}
	return revision, ok
}

var defaultStorage = resource.MustParse(v1beta2.DefaultMemberStorage)

// DataOf returns where the data of a member is. In doubt the member has data: nothing is deleted or replaced for a doubt.
func DataOf(s State, m Member) Data {
	started := m.Pod == PodRunning || m.Pod == PodDeleting || (m.Pod == PodBlocked && m.Ran)
	placed := m.Pod == PodStarting || (m.Pod == PodBlocked && m.PodReason != v1beta2.ReasonPodUnschedulable)
	switch {
	case m.VolumeUnused && (m.NeverRan() || m.Pod == PodNone), m.NeverRan() && InPod(s, m):
		return NoData
	case InPod(s, m) && m.Pod != PodNone && m.Pod != PodEnded:
		return InPodOnly
	case InPod(s, m):
		return NoData
	case onVolume(s, m):
		return OnVolume
	case started, m.Volume == VolumeDeleting && placed: // its volume is kept as long as it is mounted
		return InPodOnly
	}
	return NoData
}

// HoldsData says whether a member has, or may have, data that it runs on or can start again with.
func (s State) HoldsData(m Member) bool { return DataOf(s, m) != NoData }

// KeepsData says whether the next Pod of a member has its data.
func KeepsData(s State, m Member) bool { return DataOf(s, m) == OnVolume }

// GoesWithPod says whether a member has data that its next Pod would not have.
func GoesWithPod(s State, m Member) bool { return DataOf(s, m) == InPodOnly }

// DataInPods says whether the data of any current member is lost with its Pod, or was and will be.
func DataInPods(s State) bool {
	return !s.Durable() || slices.ContainsFunc(s.Current(), func(m Member) bool { return InPod(s, m) || GoesWithPod(s, m) })
}

// onVolume reports whether the volume of a member is there, is the one that it served on, and is what the spec asks for.
func onVolume(s State, m Member) bool {
	return m.Volume == VolumePresent && s.Durable() && !OnAnotherVolume(s, m)
}

// OnAnotherVolume reports whether the claim of a member is not the one that it served on. A person has created it, perhaps from a copy.
// A copy may lack writes that the member has acknowledged, and votes that it has cast.
func OnAnotherVolume(s State, m Member) bool {
	if m.Volume == VolumeNone || InPod(s, m) {
		return false
	}
	was, known := ServedOn(s, m)
	return (known && !was.Same(m.VolumeID) || mayBeForced(s, m)) && !accepted(s, m)
}

// accepted reports whether the annotation consents to the claim of a member. While a quorum serves, no member starts on such a claim:
// a new member takes its place, and gets all data from the others.
func accepted(s State, m Member) bool {
	return slices.Contains(s.Asked.AcceptVolumes, TokenOf(s, m)) && (!s.MembershipKnown || m.Pod != PodNone)
}

// A claim that a person creates under the name of a lost one may have an older copy of the data. The member that started on it would have
// forgotten writes that it acknowledged and votes that it cast, and together with another such member it could undo what the rest knows.
// So its data counts as lost. If nothing but copies is left, the user can accept them.

// Others are the members whose claim is not the one that they served on.
func Others(s State) []Member {
	return s.Where(func(m Member) bool {
		return m.Incarnation == s.Incarnation && m.Volume == VolumePresent && OnAnotherVolume(s, m)
	})
}

// Undecided are those of others that a person decides about before a recovery. Those that a recovery has continued without since are not among them.
// copies are claims that a person may have created from a copy, and alone those of survivors whose recovery was cancelled.
func Undecided(s State) (copies, alone []Member) {
	for _, m := range Others(s) {
		was, _ := ServedOn(s, m)
		switch {
		case ContinuedWithout(s, m):
		case mayBeForced(s, m) && was.Same(m.VolumeID):
			alone = append(alone, m)
		default:
			copies = append(copies, m)
		}
	}
	return copies, alone
}

// Tokens are the values with which a person accepts the claims of members.
func Tokens(s State, members []Member) []string {
	tokens := make([]string, len(members))
	for i, m := range members {
		tokens[i] = TokenOf(s, m)
	}
	return tokens
}

// TokenOf is the UID of the claim, and if a recovery continued without its data, the time at which that started: who accepted the claim before
// did not know of that recovery.
func TokenOf(s State, m Member) string {
	uid, at := string(m.VolumeID.Claim), m.RecoveredAt
	if r := LastRecovery(s); at.IsZero() && r != nil && r.Member != m.Name && r.StartedAt != nil && !m.VolumeCreated.IsZero() && !m.VolumeCreated.After(r.StartedAt.Time) {
		at = r.StartedAt.Time
	}
	if c := cancelledFrom(s, m); c != nil && c.StartedAt.After(at) {
		at = c.StartedAt.Time
	}
	if at.IsZero() {
		return uid
	}
	return uid + "@" + at.UTC().Format(time.RFC3339)
}

// HowToAccept says how a person accepts claims.
func HowToAccept(tokens []string) string {
	return "annotate the EtcdCluster with " + v1beta2.AnnotationAcceptVolumes + "=" + strings.Join(tokens, ",") + "."
}

// besideSurvivor reports whether a member must not start, because the survivor may be a cluster of its own, or was one. An EtcdRestore that was applied meanwhile
// changes nothing about that until a quorum answers.
func besideSurvivor(s State, m Member) bool {
	forced := s.Forcing() && s.Recovery.ForcedAt != nil && m.Incarnation == s.Incarnation && m.Name != s.Recovery.Member
	return !s.MembershipKnown && (forced || ContinuedWithout(s, m))
}

// ContinuedWithout reports whether the cluster went on without the data of a member: its volume is from before a recovery whose survivor has served
// alone since, and the record does not have it as a member. Volumes that were lost can come back. With the membership from before, such members
// would be a quorum, and serve clients beside the survivor. They start only if a person accepts their claims.
func ContinuedWithout(s State, m Member) bool {
	switch {
	case m.Incarnation != s.Incarnation || accepted(s, m):
		return false
	case MarkIsNewer(s, m):
		return !isKnown(s, m)
	case slices.Contains(s.KnownVoters, m.Name) || slices.Contains(s.KnownLearners, m.Name):
		return false
	}
	r := LastRecovery(s)
	if r == nil {
		return m.Recovered && !isKnown(s, m) // the status is lost, and the mark on the volume is not
	}
	if r.Step != v1beta2.RecoveryGrowing && r.Step != v1beta2.RecoveryComplete || m.Name == r.Member {
		return false
	}
	before := r.StartedAt != nil && !m.VolumeCreated.IsZero() && !m.VolumeCreated.After(r.StartedAt.Time)
	// A member that was added since may have the name of an old voter. While the cluster grows, the record has it before it votes.
	return m.Recovered || before || r.Step == v1beta2.RecoveryGrowing && slices.Contains(r.Voters, m.Name)
}

// SetsAside returns whether a volume that no member uses any more has data that a restore or a recovery replaced.
func SetsAside(s State, m Member) bool {
	return s.Spec.KeepReplacedVolumes() > 0 && (RecoveryReplaces(s, m) || m.Recovered || m.WasSetAside || m.Incarnation < s.Incarnation)
}

// RecoveryReplaces returns whether the recovery that the status names continues without the data of a member: of each voter, and of each other
// one whose volume is not younger, because a learner may have the last copy of a write, too. When a recovery is complete, all such volumes are set
// aside, and a volume with the name of an old one is of a new member.
func RecoveryReplaces(s State, m Member) bool {
	r := s.Recovery
	if r == nil || r.Step == v1beta2.RecoveryComplete || m.Incarnation != s.Incarnation || m.Name == r.Member {
		return false
	}
	unknown := r.StartedAt == nil && len(r.Voters) == 0 // an earlier release has begun it
	before := r.StartedAt != nil && !m.VolumeCreated.IsZero() && !m.VolumeCreated.After(r.StartedAt.Time) && !m.VolumeUnused
	return unknown || before || slices.Contains(r.Voters, m.Name)
}

// LeadsClients returns whether the client Service selects the current members, so that the data from before is not needed
// any more. A Service of something else never does, and a person has been told.
func LeadsClients(s State) bool {
	return s.Services.ClientIncarnation == s.Incarnation || IsForeign(s, "Service", s.ClientService())
}

func isAside(s State, name string) bool {
	return slices.ContainsFunc(s.SetAside, func(v SetAside) bool { return v.Name == name })
}
