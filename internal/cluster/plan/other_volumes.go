package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// A claim that a person creates under the name of a lost one may have an older copy of the data. The member that started on it would have
// forgotten writes that it acknowledged and votes that it cast, and together with another such member it could undo what the rest knows.
// So its data counts as lost. If nothing but copies is left, the user can accept them.

// others are the members whose claim is not the one that they served on.
func (s State) others() []Member {
	return s.where(func(m Member) bool {
		return m.Incarnation == s.Incarnation && m.Volume == VolumePresent && s.OnAnotherVolume(m)
	})
}

// saysOtherVolumes names the claims that do not count, and how the user accepts them if no member has its data.
func (s State) saysOtherVolumes(nothingElse bool) string {
	others := s.others()
	if len(others) == 0 {
		return ""
	}
	said := " These PersistentVolumeClaims are not the ones that their members served on, so they do not count: " + strings.Join(memberNames(others), ", ") +
		". If they are copies, they can lack writes that etcd has acknowledged."
	if i := slices.IndexFunc(others, s.mayBeForced); i >= 0 {
		said += " The data of " + others[i].Name + " may be a cluster of its own, because " + volumeForced + "."
	}
	if !nothingElse {
		return said
	}
	return said + " If nothing newer is left, accept them: " + howToAccept(s.tokens(others))
}

// tokens are the values with which a person accepts the claims of members.
func (s State) tokens(members []Member) []string {
	tokens := make([]string, len(members))
	for i, m := range members {
		tokens[i] = s.tokenOf(m)
	}
	return tokens
}

// tokenOf is the UID of the claim, and if a recovery continued without its data, the time at which that started: who accepted the claim before
// did not know of that recovery.
func (s State) tokenOf(m Member) string {
	uid, at := string(m.VolumeID.Claim), m.RecoveredAt
	if r := s.lastRecovery(); at.IsZero() && r != nil && r.Member != m.Name && r.StartedAt != nil && !m.VolumeCreated.IsZero() && !m.VolumeCreated.After(r.StartedAt.Time) {
		at = r.StartedAt.Time
	}
	if c := s.cancelledFrom(m); c != nil {
		at = c.StartedAt.Time
	}
	if at.IsZero() {
		return uid
	}
	return uid + "@" + at.UTC().Format(time.RFC3339)
}

// howToAccept says how a person accepts claims.
func howToAccept(tokens []string) string {
	return "annotate the EtcdCluster with " + v1beta2.AnnotationAcceptVolumes + "=" + strings.Join(tokens, ",") + "."
}

// waitForOthers keeps a recovery from beginning while a person has put other claims in the place of lost ones. A migration of storage gives
// the same disks other names, and then these members may have what no other has. The consent to continue without what is lost is none to
// continue without that.
func (s State) waitForOthers(others []Member, lost string) Step {
	return Wait{
		Reason: v1beta2.ReasonQuorumLost, Stalled: true,
		Message: lost + " The operator does not continue from one member before a person has decided about them. If they are the same disks under other names, " + howToAccept(s.tokens(others)) +
			" If they are copies, delete these PersistentVolumeClaims. The operator then continues from the member with the newest data.",
	}
}
