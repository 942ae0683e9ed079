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

// confirmChoice asks the survivor once more, if the choice is recorded since longer than forceWindow and the survivor is yet to be restarted. The
// status may be an old one, and the cluster may have gone on from this survivor with others. Then the survivor knows of more than when it was chosen:
// without a quorum it learns nothing, so it has seen one since.
func (s State) confirmChoice(m Member) Step {
	if !s.choiceIsOld(m) {
		return nil
	}
	if step := s.survivorPod(m, StartRejoin, "its data must say whether it is as it was when the recovery began"); step != nil {
		return step
	}
	switch {
	case len(s.knowMore()) > 0:
		return s.cancelOfOldChoice()
	case m.Pod == PodRunning && (m.Answers || m.RaftIndex > 0 && s.mute(m)):
		return RecordForcing{Member: m.Name}
	case m.Refusal != etcd.NotRefused:
		return Wait{Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true, Requeue: requeueSettled,
			Message: "The operator cannot ask survivor " + m.Name + " how much it knows. " + s.whyRefused(m.Refusal) + " Until then, it starts no other member. " + s.howToPermit(m.Refusal)}
	}
	return Wait{
		Reason: v1beta2.ReasonRecovering, Stalled: s.unreadyFor(m, startGrace), Requeue: requeueUnasked,
		Message: "The operator asks survivor " + m.Name + " whether it is as it was when it was chosen. After that, the survivor restarts with --force-new-cluster.",
	}
}

// choiceIsOld reports whether a survivor is yet to be restarted, and was chosen longer ago than forceWindow by the clock that has recorded it.
func (s State) choiceIsOld(survivor Member) bool {
	r, now := s.Recovery, s.serverNow()
	flagged := survivor.Start == StartForce && survivor.Pod != PodNone
	recent := r.StartedAt != nil && !clock.Ahead(r.StartedAt.Time, now) && clock.Elapsed(r.StartedAt.Time, now) < forceWindow
	return !flagged && r.ForcedAt == nil && !recent
}

// knowMore are the members that know of more than the survivor did when it was chosen. The one that knew most was chosen, and without a quorum none
// learns anything.
func (s State) knowMore() []Member {
	chosen := s.Recovery.RaftIndex
	return s.where(func(m Member) bool {
		return m.Incarnation == s.Incarnation && chosen > 0 && m.RaftIndex > uint64(chosen)
	})
}

func (s State) cancelOfOldChoice() Step {
	return CancelRecovery{Message: fmt.Sprintf("These members know of more than survivor %s did when it was chosen: %s. So a quorum has answered since. The status of the recovery may be an old one.",
		s.Recovery.Member, strings.Join(memberNames(s.knowMore()), ", "))}
}

// stopsUnforced reports whether the Pod of a survivor stops that never had the flag, so that the next one gets it.
func (s State) stopsUnforced(survivor Member) bool {
	return survivor.Pod == PodDeleting && survivor.Start != StartForce && s.Recovery.ForcedAt != nil
}

// forcedAgainAt is when the record counts that the survivor is about to be restarted. While its Pod stops for long, for example by
// spec.pod.terminationGracePeriodSeconds, it is renewed each minute. Else it would be too old when the Pod has gone.
func (s State) forcedAgainAt() time.Time {
	at := s.Recovery.ForcedAt.Time
	survivor, _ := s.member(s.Recovery.Member)
	if s.stopsUnforced(survivor) && s.mayForce(survivor) && clock.Elapsed(at, s.Now) >= time.Minute {
		return s.Now
	}
	return at
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
