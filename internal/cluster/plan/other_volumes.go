package plan

import (
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

// undecided are those of others that a person decides about before a recovery. Those that a recovery has continued without since are not among them.
// copies are claims that a person may have created from a copy, and alone those of survivors whose recovery was cancelled.
func (s State) undecided() (copies, alone []Member) {
	for _, m := range s.others() {
		was, _ := s.servedOn(m)
		switch {
		case s.continuedWithout(m):
		case s.mayBeForced(m) && was.same(m.VolumeID):
			alone = append(alone, m)
		default:
			copies = append(copies, m)
		}
	}
	return copies, alone
}

// saysOtherVolumes names the claims that do not count, and how the user accepts them if no member has its data.
func (s State) saysOtherVolumes(nothingElse bool) (said string) {
	copies, alone := s.undecided()
	if len(copies) > 0 {
		said = " These PersistentVolumeClaims are not the ones that their members served on, so they do not count: " + strings.Join(memberNames(copies), ", ") +
			". If they are copies, they can lack writes that etcd has acknowledged."
	}
	if len(alone) > 0 {
		said += " The data of " + strings.Join(memberNames(alone), ", ") + " does not count, because it may be a cluster of its own: " + volumeForced + "."
	}
	if all := append(copies, alone...); nothingElse && len(all) > 0 {
		said += " If nothing newer is left, accept them: " + howToAccept(s.tokens(all))
	}
	return said
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
	if c := s.cancelledFrom(m); c != nil && c.StartedAt.After(at) {
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
// continue without that. It returns nil if there is nothing to decide.
func (s State) waitForOthers(lost string) Step {
	copies, alone := s.undecided()
	if len(copies)+len(alone) == 0 {
		return nil
	}
	said := lost + " The operator does not continue from one member before a person has decided about them."
	if len(copies) > 0 {
		said += " If they are the same disks under other names, " + howToAccept(s.tokens(copies)) + " If they are copies, delete these PersistentVolumeClaims."
	}
	if len(alone) > 0 {
		said += " To continue with the data of " + strings.Join(memberNames(alone), " or ") + ", " + howToAccept(s.tokens(alone)) + " To give it up, save it, and delete that PersistentVolumeClaim."
	}
	return Wait{Reason: v1beta2.ReasonQuorumLost, Stalled: true, Message: said + " The operator then continues from the member with the newest data."}
}
