package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// StartsOnAnother reports whether the Pod of a member has not started, and would start on a claim that a person has put in the place of its
// own. A claim can be deleted while no node has the Pod, and the next one of that name is mounted.
func StartsOnAnother(s State, m Member) bool {
	return (m.Pod == PodStarting || m.Pod == PodBlocked) && !m.Ran && m.Volume == VolumePresent && OnAnotherVolume(s, m)
}

// A member is replaced for the time in which it failed, and only for that. Its Pod may not have been ready for longer: the Pod of a learner is never
// ready, no Pod is ready without a quorum, and a large database takes minutes to read. So the operator also remembers since when it has seen the
// member fail. A process that has just started has seen nothing, and observes the member for the short grace period first.

// StopsLater reports whether the Pod of a member would stop only later if it was deleted now: its node is silent, so nothing shows whether the member
// serves. It would stop when the node is back, at the same time as all others that were deleted since.
func StopsLater(m Member) bool { return m.NodeSilent }

// Expected reports whether a member should do its part by now. A voter should serve if a quorum does and its time to start etcd is over. A learner
// that the operator has released should start etcd once its Pod has a node.
func Expected(s State, m Member) bool {
	if !s.MembershipKnown || !m.InMembership || m.Incarnation != s.Incarnation {
		return false
	}
	if m.Learner {
		return m.Pod == PodStarting && m.Node != "" && !m.Waits
	}
	return !stillStarts(s, m)
}

// stillStarts reports whether a member may still read its database. A container that restarts again and again gets no new time: the time ends once
// the Pod has not been ready for so long, or once this process has got no answer for so long.
func stillStarts(s State, m Member) bool {
	over := func(since time.Time) bool { return !since.IsZero() && s.Now.Sub(since) > m.StartupBudget }
	return m.StartupBudget > 0 && !over(m.UnreadySince) && !over(m.SilentSince)
}

// SeenFailingFor reports whether this process has seen a member fail for longer than a time.
func SeenFailingFor(s State, m Member, time time.Duration) bool {
	return !m.FailingSince.IsZero() && s.Now.Sub(m.FailingSince) > time
}

// Runs reports whether etcd of a member runs with its data. It may not answer: without a quorum it answers no client, but it shows its metrics, and it
// passes the startup probe of the kubelet. A Pod whose node has ended shows what the kubelet last wrote. So if the operator reads the metrics of another member,
// no policy hides those of this one, and their absence counts.
func Runs(s State, m Member) bool {
	hidden := !slices.ContainsFunc(s.Current(), func(other Member) bool {
		return other.Name != m.Name && other.Pod == PodRunning && !other.Answers && other.RaftIndex != 0
	})
	started := !m.EtcdSince.IsZero() && m.StartupBudget == 0 && !m.NodeSilent && hidden
	return m.Pod == PodRunning && (m.Answers || m.RaftIndex != 0 || started)
}

// RunsFor reports whether etcd of a member has run for longer than a time without an end in between, and its Pod is ready or has not been ready for as
// long. If the clock of its node is ahead, the time counts from when the operator first saw that etcd runs (CorrectTimes). If that clock is behind, the
// time begins when the API server created the Pod. If the clock of the operator is behind both, only the time counts for which the Pod has not been ready.
func RunsFor(s State, m Member, time time.Duration) bool {
	return Runs(s, m) && (m.PodReady || UnreadyFor(s, m, time)) && StartedFor(s, m, time)
}

// StartedFor reports whether the etcd of a member started longer ago than a time.
func StartedFor(s State, m Member, time time.Duration) bool {
	since := m.EtcdSince
	if since.IsZero() || m.PodCreated.After(since) && !clock.Ahead(m.PodCreated, s.Now) {
		since = m.PodCreated
	}
	return clock.Ahead(since, s.Now) || clock.Elapsed(since, s.Now) > time+m.StartupBudget
}

// SilentFor reports whether a member does not answer, and this process has not seen it serve for longer than a time. One slow read is no outage.
func SilentFor(s State, m Member, time time.Duration) bool {
	return !m.Answers && !m.SilentSince.IsZero() && s.Now.Sub(m.SilentSince) > time
}

// SilentWithOldCA reports whether a member has run and not answered for a minute, with other CAs than its Secrets hold. It may refuse the operator for
// that reason alone. A member that rollMembers and restartForNewCA do not restart must be restarted by the rule that waits for it.
func SilentWithOldCA(s State, m Member) bool {
	refuses := TrustsOldCA(s, m) && !m.Answers && m.Refusal == etcd.NotRefused
	return refuses && RunsFor(s, m, RecreateGrace) && (!m.PodReady || SilentFor(s, m, RecreateGrace))
}

// MayServe reports whether a member that does not serve the operator may serve clients: its Pod is ready. That of etcd 3.4 is ready also without a
// quorum. If such a member answers the operator, it serves no client. If it does not answer, it serves clients only if
// enough others are in the same state to form a quorum with it.
func MayServe(s State, m Member) bool {
	if !m.PodReady || !m.ReadyAlone {
		return m.PodReady
	}
	mayVote := slices.DeleteFunc(slices.Clone(s.Current()), func(other Member) bool {
		tellsNoQuorum := other.ReadyAlone && other.Answers && other.Refusal == etcd.NotRefused && !other.Guarded
		return !other.PodReady || tellsNoQuorum
	})
	enough := readyForQuorum(s)
	if KnownVoters(s) == 0 {
		enough = 1 // the cluster may have fewer voters than the spec asks for
	}
	return len(mayVote) >= enough && slices.ContainsFunc(mayVote, func(other Member) bool { return other.Name == m.Name })
}

// WhyKept says what an annotation has to do with it that a member which does not serve is not replaced yet.
func WhyKept(s State, m Member) string {
	switch {
	case !s.MembershipKnown:
		return ""
	case slices.Contains(s.Asked.Fence, m.Name):
		return " Annotation " + v1beta2.AnnotationFence + " names it, so the operator does not replace it until its data is lost."
	case slices.Contains(s.Asked.Replace, m.Name):
		return fmt.Sprintf(" Annotation %s names it. The operator replaces it when it serves, or when it has not served for %s.", v1beta2.AnnotationReplace, s.Spec.MemberReplacementGrace())
	}
	return ""
}

// WhyEmpty says what is wrong with a member whose volume has no data, and what happens.
func WhyEmpty(s State, m Member) string {
	text := "Its volume has no data, and a member that has served does not start without its data. If the data still exists, for example because the node did not mount the disk, bring it back."
	if slices.Contains(s.Asked.Fence, m.Name) {
		return text + " Otherwise remove the member from annotation " + v1beta2.AnnotationFence + ", or delete its PersistentVolumeClaim. Until then the operator does not replace it."
	}
	return text + fmt.Sprintf(" Otherwise the operator replaces the member when it has not served for %s.", s.Spec.MemberReplacementGrace())
}

// WhyNoQuorumIsEmpty names the members without a quorum whose volumes have no data. The operator gives none of them up by itself: a node may
// only not have mounted the disk.
func WhyNoQuorumIsEmpty(s State, members []Member) string {
	var empty []string
	for _, m := range members {
		if m.Empty {
			empty = append(empty, m.Name)
		}
	}
	text := "The volumes of these members have no data, and a member that has served does not start without its data: " + strings.Join(empty, ", ") +
		". If the data still exists, for example because the nodes did not mount the disks, bring it back. Otherwise delete the PersistentVolumeClaims of these names."
	if s.Spec.ForcesNewCluster() {
		return text + " The operator then continues from the member with the newest data."
	}
	return text + " The operator then reports how to continue from a member that has its data, or from a snapshot."
}

// Impact says whether clients are served while a member is down.
func Impact(s State) string {
	switch v := s.Voters(); {
	case !s.Formed():
		return "The cluster has not formed yet."
	case s.MembershipKnown:
		return fmt.Sprintf("Quorum holds (%d of %d).", v.Healthy, v.Total)
	}
	return UnlessForeignQuorum(s, "No quorum answers, so etcd accepts no writes.")
}

// Cause says why a member does not serve, as a clause.
func (m Member) Cause() string { return cmp.Or(m.Unanswered, m.PodMessage, "its Pod is not ready") }

// SoFar says what keeps a starting member from serving, after a colon; it is empty if nothing is known.
func (m Member) SoFar() string {
	if m.Unanswered == "" {
		return ""
	}
	return ": " + m.Unanswered
}

// Unanswered lists the members that do not serve, each with the cause if the member's answer named one.
func Unanswered(members []Member) string {
	text := ""
	for _, m := range members {
		if m.Serving {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += m.Name
		if m.Unanswered != "" {
			text += " (" + m.Unanswered + ")"
		}
	}
	return text
}

// SilenceGrace is how long a member whose Pod is ready may not answer before that counts: one slow read is no outage.
const SilenceGrace = 10 * time.Second

// Unreachable says whether no member answers the operator while the Pods of a quorum are ready.
func Unreachable(s State) bool {
	return !Guarded(s) && readyQuorum(s, func(m Member) bool { return !m.Answers })
}

// Briefly says whether a member whose Pod is ready has not served for a moment only.
func Briefly(s State, m Member) bool {
	return readyVoter(m) && !m.SilentSince.IsZero() && s.Now.Sub(m.SilentSince) < SilenceGrace
}

func readyVoter(m Member) bool {
	return !m.Serving && m.PodReady && m.InService && m.Pod == PodRunning
}

// readyQuorum says whether no member serves the operator, and enough voters have a Pod that is ready and count.
func readyQuorum(s State, counts func(Member) bool) bool {
	if !s.Formed() || s.MembershipKnown {
		return false
	}
	ready := 0
	for _, m := range s.Current() {
		if readyVoter(m) && counts(m) {
			ready++
		}
	}
	return ready >= readyForQuorum(s)
}

// readyForQuorum is how many ready Pods prove a quorum. A Pod is ready only while its member reaches the leader, so if foreign
// voters are part of the quorum, all Pods prove it, too.
func readyForQuorum(s State) int {
	if voters := KnownVoters(s); voters > 0 {
		return min(etcd.Quorum(voters), len(s.KnownVoters))
	}
	return etcd.Quorum(max(s.Spec.Size, 1))
}

// QuorumUnknown says whether nothing is known of the quorum, and whether that is so for a moment only.
func QuorumUnknown(s State) (unknown, briefly bool) {
	briefly = !Guarded(s) && readyQuorum(s, func(m Member) bool { return Briefly(s, m) })
	return briefly || Unreachable(s), briefly
}
