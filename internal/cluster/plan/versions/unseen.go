package versions

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A member that was started with an earlier CA may refuse the operator and still vote: peers may have another CA than clients, and connections outlive
// certificates. So a member that does not answer may be one that the quorum needs.

// restartUnseen restarts a member that refuses the operator because of its CA, although another one answers. Its Pod is ready, so it is neither lost nor
// unhealthy, and waitUntilHealthy would wait for it for good. As in rollMembers, no other voter may be down.
func restartUnseen(s state.State) steps.Step {
	for _, m := range s.Membership() {
		refuses := state.TrustsOldCA(s, m) && !m.Guarded && m.Refusal == etcd.NotRefused && state.SilentFor(s, m, state.StartGrace)
		proven := m.Pod == state.PodRunning && m.PodReady && !m.NodeSilent && !m.Learner
		if refuses && proven && state.KeepsData(s, m) && othersUp(s, m) {
			return steps.DeletePod{Name: m.Name, Reason: v1beta2.ReasonRotatingCertificates, Message: "it does not answer the operator, and it must trust the CA that its Secrets hold now"}
		}
	}
	return nil
}

// quorumWithout reports whether the others keep the quorum while a member that does not answer is stopped: enough of them serve the operator, or each of them
// serves it or has a Pod that is ready.
func quorumWithout(s state.State, m state.Member) bool {
	serving := s.Where(func(other state.Member) bool {
		return other.InMembership && !other.Learner && other.Serving && other.Incarnation == s.Incarnation
	})
	if len(serving) >= etcd.Quorum(s.Voters().Total) {
		return true
	}
	return othersUp(s, m)
}

// othersUp reports whether each other voter serves the operator, or has a Pod that is ready.
func othersUp(s state.State, m state.Member) bool {
	return len(s.ForeignMembers) == 0 && !slices.ContainsFunc(s.Membership(), func(other state.Member) bool {
		return other.Name != m.Name && !other.Learner && !other.Serving && !readyUnseen(s, other)
	})
}

// readyUnseen reports whether a member that does not serve the operator is up. Its Pod counts as ready for most of a minute after its node has ended, so it
// proves something only after that time. A Pod of etcd 3.4 proves nothing.
func readyUnseen(s state.State, m state.Member) bool {
	return m.PodReady && m.Pod == state.PodRunning && !m.ReadyAlone && !m.SilentSince.IsZero() && s.Now.Sub(m.SilentSince) > state.RecreateGrace
}
