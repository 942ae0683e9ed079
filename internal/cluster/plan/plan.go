package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// deleting: the garbage collector takes what the cluster owns.
func deleting(s State) Step {
	if !s.Deleting {
		return nil
	}
	return Idle{Why: v1beta2.ReasonDeleting, Message: "being deleted, and with it all that it owns"}
}

func paused(s State) Step {
	if !s.Spec.Paused {
		return nil
	}
	return Idle{Why: v1beta2.ReasonPaused, Message: "spec.paused is true: set it to false to let the operator go on"}
}

// secrets: without them Pods would hang and members could not be asked.
func secrets(s State) Step {
	if s.SecretProblem == "" {
		return nil
	}
	return Wait{Why: v1beta2.ReasonSecretMissing, Message: s.SecretProblem, Stalled: true}
}

// services come first: members find each other by the headless one. The one for clients selects nobody until the
// cluster has formed for good, so that nothing is acknowledged to a client that could yet start over.
func services(s State) Step {
	var incarnation int32
	if s.Formed() {
		incarnation = s.Incarnation
	}
	current := s.Services.HeadlessCurrent && s.Services.ClientCurrent &&
		s.Services.ClientIncarnation == incarnation && s.Services.ClientClusterID == s.ClusterID && s.Services.ClientRestoreUID == s.madeBy()
	if current {
		return nil
	}
	return ApplyServices{Incarnation: incarnation, ClusterID: s.ClusterID, RestoreUID: s.madeBy()}
}

// unblock makes a Pod again that cannot go on as it is; the volume stays.
func unblock(s State) Step {
	for _, m := range s.Members {
		if m.Pod == PodEnded {
			return DeletePod{Name: m.Name, Why: v1beta2.ReasonMemberDown, Message: "make the Pod again: " + m.PodMessage}
		}
		if m.Pod != PodBlocked {
			continue
		}
		if step := s.unblockMember(m); step != nil {
			return step
		}
	}
	return nil
}

// unblockMember stops a blocked Pod whose cause is gone with it.
func (s State) unblockMember(m Member) Step {
	image := s.ImageFor(m.Incarnation)
	switch {
	case s.Durable() && m.Volume == VolumeNone:
		return DeletePod{Name: m.Name, Why: v1beta2.ReasonMemberDown, Message: "the volume that it waits for is gone"}
	case m.Volume == VolumeDeleting && (s.MembershipKnown || !s.Formed()):
		return DeletePod{Name: m.Name, Why: v1beta2.ReasonMemberDown, Message: "its volume is being deleted and waits for the Pod to go"}
	case s.MembershipKnown && m.InMembership && !m.Started && m.Start == StartRejoin:
		return DeletePod{Name: m.Name, Why: v1beta2.ReasonScaling, Message: "make the Pod again: the member has yet to join"}
	case s.MembershipKnown && m.InMembership && !m.Started && m.Start == StartJoin && m.Peers != strings.Join(s.JoinPeers(m.Name), ","):
		return DeletePod{Name: m.Name, Why: v1beta2.ReasonScaling, Message: "make the Pod again: the membership that it was to join has changed"}
	case m.PodImage != image && s.mayLosePod(m):
		return DeletePod{Name: m.Name, Why: v1beta2.ReasonSettling, Message: "make the Pod again with image " + image}
	case m.Outdated && s.mayLosePod(m):
		return DeletePod{Name: m.Name, Why: v1beta2.ReasonSettling, Message: "make the Pod again as spec.pod and spec.TLS ask"}
	}
	return nil
}

// mayLosePod says whether no data goes with a member's Pod.
func (s State) mayLosePod(m Member) bool {
	return s.Durable() || !s.Formed() || (s.MembershipKnown && !m.Started)
}

// quorum: without one etcd changes nothing, and neither does the operator.
func quorum(s State) Step {
	if !s.Formed() || s.MembershipKnown {
		return nil
	}
	known := len(s.KnownVoters)
	holders := s.where(func(m Member) bool {
		return m.Incarnation == s.Incarnation && s.HoldsData(m) && (known == 0 || slices.Contains(s.KnownVoters, m.Name))
	})
	if known > 0 && len(holders) < etcd.Quorum(known) {
		return s.lostQuorum(holders, known)
	}
	if wait := blocked(holders); wait != nil {
		return wait
	}
	if i := slices.IndexFunc(holders, s.overdue); i >= 0 {
		return s.waitGone(holders[i], "", "")
	}
	if s.hopeless(holders) {
		return Wait{
			Why:     v1beta2.ReasonQuorumLost,
			Message: "quorum is lost: the members that have data have had their time and do not agree (" + unanswered(s.Current()) + "); nothing is removed: bring them back, or " + s.giveUp(),
			Stalled: true,
		}
	}
	return Wait{Why: v1beta2.ReasonMemberDown, Message: "no quorum of members answers; members that hold data are running or being started: " + unanswered(s.Current())}
}

// giveUp is the way out where the data is there, and its members cannot be brought back.
func (s State) giveUp() string {
	if s.Durable() {
		return "delete the PersistentVolumeClaims of those that cannot come back, or " + s.wayOut(nil)
	}
	if slices.ContainsFunc(s.Current(), func(m Member) bool { return s.goesWithPod(m) && s.staleTrust(m) }) {
		return "put the authorities back into the TLS Secrets that the members were started with, for to restart them is to lose their data, or " + s.wayOut(nil)
	}
	return s.wayOut(nil)
}

const (
	// electionGrace is how long members that answer may take to find a leader; etcd's own election takes a second or two.
	electionGrace = 15 * time.Second
	// startGrace is how long a Pod may take until its member serves: it pulls an image and reads its data before.
	startGrace = 5 * time.Minute
)

// hopeless: no member holds data, or all that do have had their time and no quorum came of it.
func (s State) hopeless(holders []Member) bool {
	for _, m := range holders {
		grace := startGrace
		if m.Answers {
			grace = electionGrace
		}
		if !s.unreadyFor(m, grace) {
			return false
		}
	}
	return true
}

// unreadyFor says whether a member's Pod has been there and not ready for longer than grace.
func (s State) unreadyFor(m Member, grace time.Duration) bool {
	return m.Pod != PodNone && !m.UnreadySince.IsZero() && s.Now.Sub(m.UnreadySince) > grace
}

// settle: one change at a time, and none on a cluster that is not well.
func settle(s State) Step {
	current := s.Current()
	if wait := s.crowdedOut(); wait != nil {
		return wait
	}
	if wait := blocked(current); wait != nil {
		return wait
	}
	for _, m := range current {
		switch {
		case s.Formed() && !m.InMembership:
		case m.Learner:
			return Wait{Why: v1beta2.ReasonScaling, Message: "member " + m.Name + " is catching up"}
		case m.Pod == PodDeleting:
			return s.waitGone(m, v1beta2.ReasonMemberDown, "member "+m.Name+" is stopping")
		case m.Serving && m.Pod == PodRunning && m.PodReady:
		case s.unreadyFor(m, startGrace):
			return Wait{Why: v1beta2.ReasonMemberDown, Message: "member " + m.Name + " does not serve for long, see its log; delete its Pod to start it again: " + m.Unanswered, Stalled: true}
		case m.Pod == PodStarting:
			return Wait{Why: v1beta2.ReasonSettling, Message: "member " + m.Name + " is starting"}
		default:
			return Wait{Why: v1beta2.ReasonMemberDown, Message: "member " + m.Name + " does not serve: " + m.Unanswered}
		}
	}
	return nil
}

// blocked names the first Pod that cannot start, and why.
func blocked(members []Member) Step {
	for _, m := range members {
		if m.Pod == PodBlocked {
			return Wait{Why: m.PodReason, Message: "member " + m.Name + ": " + m.PodMessage, Stalled: true}
		}
	}
	return nil
}

func unanswered(members []Member) string {
	text := ""
	for _, m := range members {
		if m.Serving {
			continue
		}
		if text != "" {
			text += "; "
		}
		text += m.Name
		if m.Unanswered != "" {
			text += " (" + m.Unanswered + ")"
		}
	}
	return text
}
