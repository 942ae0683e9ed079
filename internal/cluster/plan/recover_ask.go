package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A record that the survivor is about to start with --force-new-cluster may be an old one: an API backup can bring it back months later, when the
// cluster has other voters and the spec may not consent any more. And it may be true although the Pod is gone, because its node was drained. Only
// the data of the survivor tells. So the survivor gets the flag only if the record was just made. After that, the survivor starts without the flag,
// and the operator neither starts nor stops another member. If the survivor serves alone, it was forced. If it knows other members, it never was.

// forceWindow is how long after the record the survivor may be started with the flag. The next pass does that.
const forceWindow = 5 * time.Minute

// mayForce reports whether the survivor is yet to be restarted, was just recorded to be, or runs with the flag.
func (s State) mayForce(survivor Member) bool {
	flagged := survivor.Start == StartForce && survivor.Pod != PodNone
	at := s.Recovery.ForcedAt
	return flagged || at == nil || (s.Spec.ForcesNewCluster() && !clock.Ahead(at.Time, s.Now) && clock.Elapsed(at.Time, s.Now) < forceWindow)
}

// askSurvivor starts the survivor without the flag, and waits for what its data says.
func (s State) askSurvivor(m Member) Step {
	if m.Pod == PodRunning && s.knowsOthers(m) {
		return CancelRecovery{NeverForced: true, Message: "Survivor " + m.Name + " knows other members, so it was never restarted with --force-new-cluster. The status of the recovery is an old one, or the Pod ended too early."}
	}
	if step := s.survivorPod(m, StartRejoin, "its data must say whether it was restarted with --force-new-cluster"); step != nil {
		return step
	}
	doubt := fmt.Sprintf("The status says that survivor %s was about to start with --force-new-cluster at %s.", m.Name, s.Recovery.ForcedAt.UTC().Format(time.RFC3339))
	if m.Refusal != etcd.NotRefused && !m.Serving {
		return Wait{
			Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true, Requeue: requeueSettled,
			Message: doubt + " The operator cannot ask it whether it did. " + s.whyRefused(m.Refusal) + " Until then, it starts no other member. " + s.howToPermit(m.Refusal),
		}
	}
	return Wait{
		Reason: v1beta2.ReasonRecovering, Stalled: s.unreadyFor(m, startGrace),
		Message: doubt + " The operator asks it whether it did, and starts no other member before that.",
	}
}

// knowsOthers reports whether a survivor is not alone in its membership. Without a quorum it may tell only how much it knows, but a member that is
// alone leads within an election.
func (s State) knowsOthers(m Member) bool {
	return len(m.Knows) > 1 || (!m.Serving && !m.Leader && m.Refusal == etcd.NotRefused && (m.Answers || m.RaftIndex > 0) && s.mute(m))
}

// besideSurvivor reports whether a member must not start, because the survivor may be a cluster of its own, or was one. An EtcdRestore that was applied meanwhile
// changes nothing about that until a quorum answers.
func (s State) besideSurvivor(m Member) bool {
	forced := s.forcing() && s.Recovery.ForcedAt != nil && m.Incarnation == s.Incarnation && m.Name != s.Recovery.Member
	return !s.MembershipKnown && (forced || s.continuedWithout(m))
}

// continuedWithout reports whether the cluster went on without the data of a member: its volume is from before a recovery whose survivor has served
// alone since, and the record does not have it as a member. Volumes that were lost can come back. With the membership from before, such members
// would be a quorum, and serve clients beside the survivor. They start only if a person accepts their claims.
func (s State) continuedWithout(m Member) bool {
	switch {
	case m.Incarnation != s.Incarnation || s.accepted(m):
		return false
	case s.markIsNewer(m):
		return !s.isKnown(m)
	case slices.Contains(s.KnownVoters, m.Name) || slices.Contains(s.KnownLearners, m.Name):
		return false
	}
	r := s.lastRecovery()
	if r == nil {
		return m.Recovered && !s.isKnown(m) // the status is lost, and the mark on the volume is not
	}
	if r.Step != v1beta2.RecoveryGrowing && r.Step != v1beta2.RecoveryComplete || m.Name == r.Member {
		return false
	}
	before := r.StartedAt != nil && !m.VolumeCreated.IsZero() && !m.VolumeCreated.After(r.StartedAt.Time)
	// A member that was added since may have the name of an old voter. While the cluster grows, the record has it before it votes.
	return m.Recovered || before || r.Step == v1beta2.RecoveryGrowing && slices.Contains(r.Voters, m.Name)
}

// lastRecovery is the last one whose survivor has served alone; nil if the status has none. One that has only begun has changed nothing yet, so the one
// before it counts.
func (s State) lastRecovery() *v1beta2.EarlierRecovery {
	if r := s.Recovery; r != nil && r.Step == v1beta2.RecoveryForcing {
		return r.Earlier
	}
	return asEarlier(s.Recovery)
}

// saysContinuedWithout names the volumes of such members, and how a person accepts them if nothing newer is left.
func (s State) saysContinuedWithout() string {
	old := s.where(func(m Member) bool { return m.Volume == VolumePresent && s.continuedWithout(m) })
	if len(old) == 0 {
		return ""
	}
	survivor := "another member"
	if r := s.lastRecovery(); r != nil {
		survivor = "member " + r.Member
	}
	return fmt.Sprintf(" The recovery from %s went on without the data of %s, so they do not start. If the data since then is lost, accept theirs: %s",
		survivor, strings.Join(memberNames(old), ", "), howToAccept(s.tokens(old)))
}
