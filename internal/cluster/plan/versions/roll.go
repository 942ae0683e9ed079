package versions

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// RollMembers recreates the Pods that differ from the spec, one after the other. The leader is the last, after it has handed
// over. A member restarts with the data on its volume. A member without a volume is replaced (see leavingCause).
func RollMembers(s state.State) steps.Step {
	if !s.Formed() {
		return nil
	}
	if refusal := state.ImageOfAnotherVersion(s); refusal != "" {
		return steps.Wait{Reason: v1beta2.ReasonVersionNotSupported, Message: refusal + " Until then the operator restarts no member.", Stalled: true}
	}
	stale := s.Where(func(m state.Member) bool {
		return m.Incarnation == s.Incarnation && m.InMembership && steps.StopStale(s, m) != nil
	})
	if len(stale) == 0 {
		return nil
	}
	if refusal := cannotRoll(s, stale); refusal != nil {
		return refusal
	}
	if wait := waits.QuotaTooLow(s); wait != nil {
		return wait
	}
	stale = slices.DeleteFunc(slices.Clone(stale), func(m state.Member) bool { return state.GoesWithPod(s, m) })
	if len(stale) == 0 {
		return nil
	}
	for _, m := range stale {
		if step := waitForData(s, m); step != nil {
			return step
		}
		if wait := waits.WaitForForeignVoters(s); wait != nil {
			return wait
		}
		if !m.Leader {
			return steps.StopStale(s, m)
		}
	}
	leader := stale[0]
	if step := waits.MoveLeader(s, leader); step != nil {
		return step
	}
	return steps.StopStale(s, leader)
}

// RecreateUnhealthy recreates the Pod of a member that does not serve and differs from the spec: the change may be what
// corrects it. No data is lost, because the next Pod has the same volume. While its node is silent, it is not stopped (see state.StopsLater).
func RecreateUnhealthy(s state.State) steps.Step {
	if !s.MembershipKnown {
		return nil
	}
	image, grace := s.ImageFor(s.Incarnation), max(state.RecreateGrace, state.ElectionGrace(s))
	for _, m := range s.Membership() {
		down := !m.Serving && (m.Pod == state.PodStarting || m.Pod == state.PodRunning) && state.FailedFor(s, m, grace)
		if !down || state.StopsLater(m) || (m.PodReady || m.ProbesAlarm) && !quorumWithout(s, m) || m.Learner || !state.KeepsData(s, m) || (m.PodImage == image && !m.Outdated && !state.TrustsOldCA(s, m)) {
			continue
		}
		if m.PodImage == image && !m.Outdated {
			return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonRotatingCertificates, Message: "it does not serve, and it must trust the CA that its Secrets hold now"}
		}
		return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonSettling, Message: "it does not serve and differs from the spec"}
	}
	if step := restartUnseen(s); step != nil {
		return step
	}
	return recreateBeside(s, image)
}

// recreateBeside recreates the Pod of a member that serves, but has a container beside etcd that is not ready, if the Pod
// differs from the spec. Otherwise a correction of that container would wait for ever, because waitUntilHealthy stands before
// rollMembers. A quorum serves meanwhile, unless all members serve, as in a roll. The leader is the last, after it has handed over.
func recreateBeside(s state.State, image string) steps.Step {
	if v := s.Voters(); v.Healthy < v.Total && !v.KeepsQuorumWhileStopped(true) {
		return nil
	}
	var leader *state.Member
	for _, m := range s.Membership() {
		differs := m.PodImage != image || (m.Outdated && m.Resize == state.ResizeNone)
		switch {
		case !m.Serving || m.Learner || !state.KeepsData(s, m) || !differs || !state.BesideFor(s, m, state.RecreateGrace):
		case m.Leader:
			leader = &m
		default:
			return stopBeside(m)
		}
	}
	if leader == nil {
		return nil
	}
	if step := waits.MoveLeader(s, *leader); step != nil {
		return step
	}
	return stopBeside(*leader)
}

func stopBeside(m state.Member) steps.Step {
	return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonSettling, Message: "a container beside etcd is not ready, and the Pod differs from the spec"}
}

// cannotRoll says why members may not be brought to what the spec asks for.
func cannotRoll(s state.State, stale []state.Member) steps.Step {
	for _, m := range stale {
		if m.PodImage == s.Spec.Image() {
			continue
		}
		if refusal := state.RollRefusal(s); refusal != "" {
			return steps.Wait{Reason: v1beta2.ReasonVersionNotSupported, Message: refusal + " The members keep their version until then.", Stalled: true}
		}
	}
	return nil
}

// waitForData waits until etcd of the spec's version can read a member's data.
func waitForData(s state.State, m state.Member) steps.Step {
	data := state.Minor(m.StorageVersion)
	switch wanted := s.Spec.EtcdVersion(); {
	case m.StorageVersion == "" || data == state.Minor(wanted):
		return nil
	case state.TwoBelow(m.StorageVersion, wanted):
		return steps.Wait{Reason: v1beta2.ReasonUpgrading, Message: "The data of member " + m.Name + " is still at " + data + ", and etcd " + state.Minor(wanted) + " cannot read it. etcd is converting it to " + state.Minor(m.Version) + "."}
	case state.Older(m.StorageVersion, wanted):
		return nil
	default:
		return steps.Wait{Reason: v1beta2.ReasonUpgrading, Message: "The data of member " + m.Name + " is still at " + data + ". etcd is converting it to " + state.Minor(wanted) + "."}
	}
}

// UpgradeRefusal returns why the operator would not bring members of versions from lowest to highest to another version, and an
// empty string if it would. kubectl etcd upgrade asks before it changes the spec.
func UpgradeRefusal(lowest, highest, to string) string {
	return state.UpgradeRefusal(lowest, highest, to)
}
