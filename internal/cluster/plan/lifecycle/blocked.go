package lifecycle

import (
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// RecreateBlocked recreates a Pod that cannot run as it is. The volume is kept.
func RecreateBlocked(s state.State) steps.Step {
	for _, m := range s.Members {
		if state.BacksOff(s, m) || m.Answers {
			continue // waitForAttempt reports it, or the cache is behind: a member that answers runs
		}
		var step steps.Step
		switch m.Pod {
		case state.PodEnded:
			step = steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonMemberDown, Message: "it has ended: " + m.PodMessage}
		case state.PodBlocked:
			step = recreateBlockedMember(s, m)
		case state.PodStarting:
			step = recreateFormerSeed(s, m)
		}
		if state.StartsOnAnother(s, m) {
			step = steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonMemberDown, Message: "it has not started, and " + state.CauseVolumeOther}
		}
		if step != nil && waits.May(s, step) {
			return step
		}
	}
	return nil
}

// recreateBlockedMember stops a blocked Pod if a new Pod would not be blocked for the same cause.
func recreateBlockedMember(s state.State, m state.Member) steps.Step {
	if step := withoutItsVolume(s, m); step != nil {
		return step
	}
	image := s.ImageFor(m.Incarnation)
	switch {
	case s.MembershipKnown && m.InMembership && !m.Started && m.Start == state.StartRejoin:
		return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonScaling, Message: "the member has not joined the cluster yet"}
	case s.MembershipKnown && m.InMembership && !m.Started && m.Start == state.StartJoin && m.Peers != strings.Join(state.JoinPeers(s, m.Name), ","):
		return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonScaling, Message: "the membership has changed since the Pod was created to join it"}
	case m.PodImage != image && mayLosePod(s, m):
		return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonSettling, Message: "it must run image " + image}
	case m.Outdated && mayLosePod(s, m):
		return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonSettling, Message: "spec.pod or spec.TLS has changed"}
	}
	return nil
}

// withoutItsVolume stops a blocked Pod whose volume is missing, lost, or waits for the Pod to end.
func withoutItsVolume(s state.State, m state.Member) steps.Step {
	switch {
	case !state.InPod(s, m) && m.Volume == state.VolumeNone && (s.MembershipKnown || !state.GoesWithPod(s, m)):
		return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonMemberDown, Message: "the volume that it waits for does not exist"}
	case m.Volume == state.VolumeLost && state.GoesWithPod(s, m) && s.MembershipKnown:
		return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonMemberDown, Message: "it does not run, and " + state.CauseVolumeLost}
	case m.Volume == state.VolumeDeleting && (s.MembershipKnown || !s.Formed()):
		return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonMemberDown, Message: "its volume is being deleted and waits for the Pod to end"}
	}
	return nil
}

// recreateFormerSeed recreates the Pod of a seed without what only a restore needs: users delete the Secret of the store
// afterwards, and the node can then no longer mount it.
func recreateFormerSeed(s state.State, m state.Member) steps.Step {
	if m.MissingSecret == "" || !s.Formed() || m.Incarnation != s.Incarnation || !state.KeepsData(s, m) {
		return nil
	}
	return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonMemberDown, Message: "it cannot start without Secret " + m.MissingSecret + ", which only the restore needed"}
}

// mayLosePod says whether a member's Pod can be deleted without loss of data.
func mayLosePod(s state.State, m state.Member) bool {
	return !state.GoesWithPod(s, m) || !s.Formed() || (s.MembershipKnown && !m.Started)
}
