package plan

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// A recovery from a lost quorum marks the volumes that it continues without, before its survivor starts alone. If the status is lost or an old one
// later, the marks tell that such a recovery began, but not whether it was carried out: it may have been cancelled. So a mark keeps a member from
// starting, and a person decides. If the member serves in a quorum, the mark is wrong, and is removed.

// UnmarkVolume removes the mark from the volume of a member that serves.
type UnmarkVolume struct{ Name string }

func (step UnmarkVolume) describe(State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: "Member " + step.Name + " serves in the quorum. So its volume is no longer marked as one that a recovery continued without.",
		Requeue: requeueSoon,
	}
}

// unmarkVolumes: a mark that is wrong would hide newer data from the next recovery.
func unmarkVolumes(s State) Step {
	if !s.MembershipKnown || s.forcing() {
		return nil
	}
	for _, m := range s.membership() {
		serves := m.Recovered && m.Serving && !m.Learner && m.Volume == VolumePresent
		if unmark := (UnmarkVolume{Name: m.Name}); serves && !s.recoveryReplaces(m) && !s.OnAnotherVolume(m) && s.may(unmark) {
			return unmark
		}
	}
	return nil
}

// markIsNewer reports whether the mark on a volume is of a recovery that the status does not have, because it is lost or from before. Then the voters of
// the status are those from before, too.
func (s State) markIsNewer(m Member) bool {
	knows := func(started *metav1.Time) bool { return started != nil && !started.Time.Before(m.RecoveredAt) }
	switch {
	case !m.Recovered || m.RecoveredAt.IsZero():
		return false
	case s.Recovery != nil && s.forcing() && s.Recovery.ForcedAt == nil && s.Recovery.StartedAt != nil && s.Recovery.StartedAt.Time.Equal(m.RecoveredAt):
		return true // the status is from before the volumes were marked
	case s.Recovery != nil && (knows(s.Recovery.StartedAt) || s.Recovery.Earlier != nil && knows(s.Recovery.Earlier.StartedAt)):
		return false
	}
	return s.LastRecovery == nil || !knows(&s.LastRecovery.StartedAt)
}

// marked reports whether a recovery of that time has marked a volume.
func (s State) marked(started *metav1.Time) bool {
	return started != nil && slices.ContainsFunc(s.Members, func(m Member) bool { return m.Recovered && m.RecoveredAt.Equal(started.Time) })
}

// isKnown reports whether a member without a quorum says that a marked one belongs to its membership. Then the recovery that set the mark was not
// carried out.
func (s State) isKnown(marked Member) bool {
	return slices.ContainsFunc(s.Current(), func(m Member) bool {
		return m.Name != marked.Name && !m.Recovered && slices.ContainsFunc(m.Knows, func(known etcd.Member) bool {
			return known.Name == marked.Name || slices.Contains(known.PeerURLs, s.PeerURL(marked.Name))
		})
	})
}

// inDoubt are the members with a marked volume whose recovery the status does not have.
func (s State) inDoubt() []Member {
	known := s.lastRecovery() != nil
	return s.where(func(m Member) bool {
		return m.Volume == VolumePresent && s.continuedWithout(m) && (s.markIsNewer(m) || !known)
	})
}

// waitForMarked waits for a person if the status is lost or an old one, and marks say that a recovery began without the data of members. Beside
// voters that the status has, a mark without a time counts only when a recovery is to begin.
func (s State) waitForMarked() Step {
	marked := slices.DeleteFunc(s.inDoubt(), func(m Member) bool {
		return m.Pod != PodNone || s.knownVoters() > 0 && !s.markIsNewer(m)
	})
	if len(marked) == 0 {
		return nil
	}
	return Wait{
		Reason: v1beta2.ReasonAnotherVolume, Stalled: true, Requeue: requeueSettled,
		Message: fmt.Sprintf("No quorum answers. The status is lost or an old one. The PersistentVolumeClaims of %s are marked, because a recovery from a lost quorum began without their data. "+
			"So they do not start, because the cluster may have gone on without them. If it did not, or if the data since then is lost, accept theirs: %s "+
			"To continue from a member that is not marked, save the data of these PersistentVolumeClaims, and delete them.",
			strings.Join(memberNames(marked), ", "), howToAccept(s.tokens(marked))),
	}
}

// waitForDoubt keeps a recovery from beginning without the data of such members. If the status is an old one, they may vote, and have writes that
// no other member has.
func (s State) waitForDoubt(lost string) Step {
	marked := s.inDoubt()
	if len(marked) == 0 {
		return nil
	}
	return Wait{
		Reason: v1beta2.ReasonQuorumLost, Stalled: true,
		Message: fmt.Sprintf("%s The status does not have %s as members, but they have data. Their PersistentVolumeClaims are marked, because an earlier recovery began without them. "+
			"The status does not say whether it was carried out. So the operator does not continue before a person has decided. If it was not, then %s "+
			"If it was, save the data of these PersistentVolumeClaims, and delete them. The operator then continues from the member with the newest data.",
			lost, strings.Join(memberNames(marked), ", "), howToAccept(s.tokens(marked))),
	}
}
