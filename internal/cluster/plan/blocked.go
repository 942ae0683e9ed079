package plan

import (
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// recreateBlocked makes a Pod again that cannot go on as it is; the volume stays.
func recreateBlocked(s State) Step {
	for _, m := range s.Members {
		if s.backsOff(m) {
			continue // waitForAttempt reports it
		}
		if m.Pod == PodEnded {
			return DeletePod{Name: m.Name, Reason: v1beta2.ReasonMemberDown, Message: "make the Pod again: " + m.PodMessage}
		}
		if m.Pod != PodBlocked {
			continue
		}
		if step := s.recreateBlockedMember(m); step != nil {
			return step
		}
	}
	return nil
}

// recreateBlockedMember stops a blocked Pod whose cause is gone with it.
func (s State) recreateBlockedMember(m Member) Step {
	image := s.ImageFor(m.Incarnation)
	switch {
	case s.Durable() && m.Volume == VolumeNone:
		return DeletePod{Name: m.Name, Reason: v1beta2.ReasonMemberDown, Message: "the volume that it waits for is gone"}
	case m.Volume == VolumeDeleting && (s.MembershipKnown || !s.Formed()):
		return DeletePod{Name: m.Name, Reason: v1beta2.ReasonMemberDown, Message: "its volume is being deleted and waits for the Pod to go"}
	case s.MembershipKnown && m.InMembership && !m.Started && m.Start == StartRejoin:
		return DeletePod{Name: m.Name, Reason: v1beta2.ReasonScaling, Message: "make the Pod again: the member has yet to join"}
	case s.MembershipKnown && m.InMembership && !m.Started && m.Start == StartJoin && m.Peers != strings.Join(s.JoinPeers(m.Name), ","):
		return DeletePod{Name: m.Name, Reason: v1beta2.ReasonScaling, Message: "make the Pod again: the membership that it was to join has changed"}
	case m.PodImage != image && s.mayLosePod(m):
		return DeletePod{Name: m.Name, Reason: v1beta2.ReasonSettling, Message: "make the Pod again with image " + image}
	case m.Outdated && s.mayLosePod(m):
		return DeletePod{Name: m.Name, Reason: v1beta2.ReasonSettling, Message: "make the Pod again as spec.pod and spec.TLS ask"}
	}
	return nil
}

// mayLosePod says whether no data goes with a member's Pod.
func (s State) mayLosePod(m Member) bool {
	return s.Durable() || !s.Formed() || (s.MembershipKnown && !m.Started)
}
