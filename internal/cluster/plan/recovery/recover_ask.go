package recovery

import (
	"fmt"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A record that the survivor is about to start with --force-new-cluster may be an old one: an API backup can bring it back months later, when the
// cluster has other voters and the spec may not consent any more. And it may be true although the Pod is gone, because its node was drained. Only
// the data of the survivor tells. So the survivor gets the flag only if the record was just made. After that, the survivor starts without the flag,
// and the operator neither starts nor stops another member. If the survivor serves alone, it was forced. If it knows other members, it never was.

// forceWindow is how long after the record the survivor may be started with the flag. The next pass does that.
const forceWindow = 5 * time.Minute

// mayForce reports whether the survivor is yet to be restarted, was just recorded to be, or runs with the flag.
func mayForce(s state.State, survivor state.Member) bool {
	flagged := survivor.Start == state.StartForce && survivor.Pod != state.PodNone
	at := s.Recovery.ForcedAt
	return flagged || at == nil || (s.Spec.ForcesNewCluster() && !clock.Ahead(at.Time, s.Now) && clock.Elapsed(at.Time, s.Now) < forceWindow)
}

// ChoiceIsOld reports whether a survivor is yet to be restarted, and was chosen longer ago than forceWindow by the clock that has recorded it.
func ChoiceIsOld(s state.State, survivor state.Member) bool {
	r, now := s.Recovery, state.ServerNow(s)
	flagged := survivor.Start == state.StartForce && survivor.Pod != state.PodNone
	recent := r.StartedAt != nil && !clock.Ahead(r.StartedAt.Time, now) && clock.Elapsed(r.StartedAt.Time, now) < forceWindow
	return !flagged && r.ForcedAt == nil && !recent
}

// knowMore are the members that know of more than the survivor did when it was chosen. The one that knew most was chosen, and without a quorum none
// learns anything.
func knowMore(s state.State) []state.Member {
	chosen := s.Recovery.RaftIndex
	return s.Where(func(m state.Member) bool {
		return m.Incarnation == s.Incarnation && chosen > 0 && m.RaftIndex > uint64(chosen)
	})
}

func cancelOfOldChoice(s state.State) steps.Step {
	return steps.CancelRecovery{Message: fmt.Sprintf("These members know of more than survivor %s did when it was chosen: %s. So a quorum has answered since. The status of the recovery may be an old one.",
		s.Recovery.Member, strings.Join(state.MemberNames(knowMore(s)), ", "))}
}

// stopsUnforced reports whether the Pod of a survivor stops that never had the flag, so that the next one gets it.
func stopsUnforced(s state.State, survivor state.Member) bool {
	return survivor.Pod == state.PodDeleting && survivor.Start != state.StartForce && s.Recovery.ForcedAt != nil
}

// ForcedAgainAt is when the record counts that the survivor is about to be restarted. While its Pod stops for long, for example by
// spec.pod.terminationGracePeriodSeconds, it is renewed each minute. Else it would be too old when the Pod has gone.
func ForcedAgainAt(s state.State) time.Time {
	at := s.Recovery.ForcedAt.Time
	survivor, _ := state.Find(s, s.Recovery.Member)
	if stopsUnforced(s, survivor) && mayForce(s, survivor) && clock.Elapsed(at, s.Now) >= time.Minute {
		return s.Now
	}
	return at
}

// askSurvivor starts the survivor without the flag, and waits for what its data says.
func askSurvivor(s state.State, m state.Member) steps.Step {
	if m.Pod == state.PodRunning && knowsOthers(s, m) {
		return steps.CancelRecovery{NeverForced: true, Message: "Survivor " + m.Name + " knows other members, so it was never restarted with --force-new-cluster. The status of the recovery is an old one, or the Pod ended too early."}
	}
	if step := survivorPod(s, m, state.StartRejoin, "its data must say whether it was restarted with --force-new-cluster"); step != nil {
		return step
	}
	doubt := fmt.Sprintf("The status says that survivor %s was about to start with --force-new-cluster at %s.", m.Name, s.Recovery.ForcedAt.UTC().Format(time.RFC3339))
	if m.Refusal != etcd.NotRefused && !m.Serving {
		return steps.Wait{
			Reason: v1beta2.ReasonEtcdAccessDenied, Stalled: true, Requeue: state.RequeueSettled,
			Message: doubt + " The operator cannot ask it whether it did. " + state.WhyRefused(s, m.Refusal) + " Until then, it starts no other member. " + state.HowToPermit(s, m.Refusal),
		}
	}
	return steps.Wait{
		Reason: v1beta2.ReasonRecovering, Stalled: state.UnreadyFor(s, m, state.StartGrace),
		Message: doubt + " The operator asks it whether it did, and starts no other member before that.",
	}
}

// knowsOthers reports whether a survivor is not alone in its membership. Without a quorum it may tell only how much it knows, but a member that is
// alone leads within an election.
func knowsOthers(s state.State, m state.Member) bool {
	return len(m.Knows) > 1 || (!m.Serving && !m.Leader && m.Refusal == etcd.NotRefused && (m.Answers || m.RaftIndex > 0) && mute(s, m))
}

// saysContinuedWithout names the volumes of such members, and how a person accepts them if nothing newer is left.
func saysContinuedWithout(s state.State) string {
	old := s.Where(func(m state.Member) bool { return m.Volume == state.VolumePresent && state.ContinuedWithout(s, m) })
	if len(old) == 0 {
		return ""
	}
	survivor := "another member"
	if r := state.LastRecovery(s); r != nil {
		survivor = "member " + r.Member
	}
	return fmt.Sprintf(" The recovery from %s went on without the data of %s, so they do not start. If the data since then is lost, accept theirs: %s",
		survivor, strings.Join(state.MemberNames(old), ", "), state.HowToAccept(state.Tokens(s, old)))
}
