package state

import (
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

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
