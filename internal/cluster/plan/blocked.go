package plan

import (
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// recreateBlocked recreates a Pod that cannot run as it is. The volume is kept.
func recreateBlocked(s State) Step {
	for _, m := range s.Members {
		if s.backsOff(m) || m.Answers {
			continue // waitForAttempt reports it, or the cache is behind: a member that answers runs
		}
		var step Step
		switch m.Pod {
		case PodEnded:
			step = DeletePod{Name: m.Name, Reason: v1beta2.ReasonMemberDown, Message: "it has ended: " + m.PodMessage}
		case PodBlocked:
			step = s.recreateBlockedMember(m)
		case PodStarting:
			step = s.recreateFormerSeed(m)
		}
		if s.startsOnAnother(m) {
			step = DeletePod{Name: m.Name, Reason: v1beta2.ReasonMemberDown, Message: "it has not started, and " + volumeOther}
		}
		if step != nil && s.may(step) {
			return step
		}
	}
	return nil
}

// recreateBlockedMember stops a blocked Pod if a new Pod would not be blocked for the same cause.
func (s State) recreateBlockedMember(m Member) Step {
	if step := s.withoutItsVolume(m); step != nil {
		return step
	}
	image := s.ImageFor(m.Incarnation)
	switch {
	case s.MembershipKnown && m.InMembership && !m.Started && m.Start == StartRejoin:
		return DeletePod{Name: m.Name, Reason: v1beta2.ReasonScaling, Message: "the member has not joined the cluster yet"}
	case s.MembershipKnown && m.InMembership && !m.Started && m.Start == StartJoin && m.Peers != strings.Join(s.JoinPeers(m.Name), ","):
		return DeletePod{Name: m.Name, Reason: v1beta2.ReasonScaling, Message: "the membership has changed since the Pod was created to join it"}
	case m.PodImage != image && s.mayLosePod(m):
		return DeletePod{Name: m.Name, Reason: v1beta2.ReasonSettling, Message: "it must run image " + image}
	case m.Outdated && s.mayLosePod(m):
		return DeletePod{Name: m.Name, Reason: v1beta2.ReasonSettling, Message: "spec.pod or spec.TLS has changed"}
	}
	return nil
}

// withoutItsVolume stops a blocked Pod whose volume is missing, lost, or waits for the Pod to end.
func (s State) withoutItsVolume(m Member) Step {
	switch {
	case !s.inPod(m) && m.Volume == VolumeNone && (s.MembershipKnown || !s.goesWithPod(m)):
		return DeletePod{Name: m.Name, Reason: v1beta2.ReasonMemberDown, Message: "the volume that it waits for does not exist"}
	case m.Volume == VolumeLost && s.goesWithPod(m) && s.MembershipKnown:
		return DeletePod{Name: m.Name, Reason: v1beta2.ReasonMemberDown, Message: "it does not run, and " + volumeLost}
	case m.Volume == VolumeDeleting && (s.MembershipKnown || !s.Formed()):
		return DeletePod{Name: m.Name, Reason: v1beta2.ReasonMemberDown, Message: "its volume is being deleted and waits for the Pod to end"}
	}
	return nil
}

// recreateFormerSeed recreates the Pod of a seed without what only a restore needs: users delete the Secret of the store
// afterwards, and the node can then no longer mount it.
func (s State) recreateFormerSeed(m Member) Step {
	if m.MissingSecret == "" || !s.Formed() || m.Incarnation != s.Incarnation || !s.keepsData(m) {
		return nil
	}
	return DeletePod{Name: m.Name, Reason: v1beta2.ReasonMemberDown, Message: "it cannot start without Secret " + m.MissingSecret + ", which only the restore needed"}
}

// mayLosePod says whether a member's Pod can be deleted without loss of data.
func (s State) mayLosePod(m Member) bool {
	return !s.goesWithPod(m) || !s.Formed() || (s.MembershipKnown && !m.Started)
}

// startsOnAnother reports whether the Pod of a member has not started, and would start on a claim that a person has put in the place of its
// own. A claim can be deleted while no node has the Pod, and the next one of that name is mounted.
func (s State) startsOnAnother(m Member) bool {
	return (m.Pod == PodStarting || m.Pod == PodBlocked) && !m.Ran && m.Volume == VolumePresent && s.OnAnotherVolume(m)
}
