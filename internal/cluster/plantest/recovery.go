package plantest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// MarkedByRecovery is a volume that a recovery has marked.
func MarkedByRecovery(m *state.Member) { m.Recovered = true }

// ForcedAgo means that the status says since when the survivor may have run with the flag.
func ForcedAgo(s *state.State, survivor int, ago time.Duration) {
	at := metav1.NewTime(Noon.Add(-ago))
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: NameOf(survivor), Voters: s.KnownVoters, StartedAt: &at, ForcedAt: &at}
}

// Consenting means that the spec lets the cluster continue from one survivor.
func Consenting(s *state.State) {
	s.Spec.Recovery = &v1beta2.RecoveryPolicy{QuorumLoss: v1beta2.QuorumLossForceNewCluster}
}

// Knows means that the member answers without a quorum, and reports this Raft index and term.
func Knows(index, term uint64) func(*state.Member) {
	return func(m *state.Member) {
		m.Answers, m.ClusterID, m.RaftIndex, m.RaftTerm = true, 0xaa, index, term
	}
}

// Forcing means that the operator has chosen the i-th member as the survivor.
func Forcing(i int) Change {
	return func(s *state.State) {
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: NameOf(i), RaftIndex: 42, StartedAt: &metav1.Time{Time: Noon.Add(-time.Minute)}}
	}
}

// FlagRecorded means that the status records that the survivor may have run with --force-new-cluster.
func FlagRecorded(s *state.State) {
	at := metav1.NewTime(Noon)
	s.Recovery.ForcedAt = &at
}

// Forced is a survivor that runs with --force-new-cluster.
func Forced(m *state.Member) { m.Start = state.StartForce; m.InService = false }
