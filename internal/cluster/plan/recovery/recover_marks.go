package recovery

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// A recovery from a lost quorum marks the volumes that it continues without, before its survivor starts alone. If the status is lost or an old one
// later, the marks tell that such a recovery began, but not whether it was carried out: it may have been cancelled. So a mark keeps a member from
// starting, and a person decides. If the member serves in a quorum, the mark is wrong, and is removed.

// UnmarkVolumes removes marks that are wrong. Such a mark would hide newer data from the next recovery.
func UnmarkVolumes(s state.State) steps.Step {
	if !s.MembershipKnown || s.Forcing() {
		return nil
	}
	for _, m := range s.Membership() {
		serves := m.Recovered && m.Serving && !m.Learner && m.Volume == state.VolumePresent
		if unmark := (steps.UnmarkVolume{Name: m.Name}); serves && !state.RecoveryReplaces(s, m) && !state.OnAnotherVolume(s, m) && waits.May(s, unmark) {
			return unmark
		}
	}
	return nil
}

// Marked reports whether a recovery of that time has marked a volume.
func Marked(s state.State, started *metav1.Time) bool {
	return started != nil && slices.ContainsFunc(s.Members, func(m state.Member) bool { return m.Recovered && m.RecoveredAt.Equal(started.Time) })
}

// InDoubt are the members with a marked volume whose recovery the status does not have.
func InDoubt(s state.State) []state.Member {
	known := state.LastRecovery(s) != nil
	return s.Where(func(m state.Member) bool {
		return m.Volume == state.VolumePresent && state.ContinuedWithout(s, m) && (state.MarkIsNewer(s, m) || !known)
	})
}

// WaitForMarked waits for a person if the status is lost or an old one, and marks say that a recovery began without the data of members. Beside
// voters that the status has, a mark without a time counts only when a recovery is to begin.
func WaitForMarked(s state.State) steps.Step {
	marked := slices.DeleteFunc(InDoubt(s), func(m state.Member) bool {
		return m.Pod != state.PodNone || state.KnownVoters(s) > 0 && !state.MarkIsNewer(s, m)
	})
	if len(marked) == 0 {
		return nil
	}
	return steps.Wait{
		Reason: v1beta2.ReasonAnotherVolume, Stalled: true, Requeue: state.RequeueSettled,
		Message: fmt.Sprintf("No quorum answers. The status is lost or an old one. The PersistentVolumeClaims of %s are marked, because a recovery from a lost quorum began without their data. "+
			"So they do not start, because the cluster may have gone on without them. If it did not, or if the data since then is lost, accept theirs: %s "+
			"To continue from a member that is not marked, save the data of these PersistentVolumeClaims, and delete them.",
			strings.Join(state.MemberNames(marked), ", "), state.HowToAccept(state.Tokens(s, marked))),
	}
}

// waitForDoubt keeps a recovery from beginning without the data of such members. If the status is an old one, they may vote, and have writes that
// no other member has.
func waitForDoubt(s state.State, lost string) steps.Step {
	marked := InDoubt(s)
	if len(marked) == 0 {
		return nil
	}
	return steps.Wait{
		Reason: v1beta2.ReasonQuorumLost, Stalled: true,
		Message: fmt.Sprintf("%s The status does not have %s as members, but they have data. Their PersistentVolumeClaims are marked, because an earlier recovery began without them. "+
			"The status does not say whether it was carried out. So the operator does not continue before a person has decided. If it was not, then %s "+
			"If it was, save the data of these PersistentVolumeClaims, and delete them. The operator then continues from the member with the newest data.",
			lost, strings.Join(state.MemberNames(marked), ", "), state.HowToAccept(state.Tokens(s, marked))),
	}
}
