// Package clustertest has states, objects and API servers that the tests of several packages use.
package clustertest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// These functions build states with the words of package plantest: State(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Silent)).

// Gi is a gibibyte.
const Gi = int64(1) << 30

// State returns a new EtcdCluster of three members, to which each of changes was applied in turn.
func State(changes ...plantest.Change) state.State {
	s := state.State{
		Now: plantest.Noon, Namespace: "ns", Name: "example", UID: "uid-example",
		Spec: v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16"},
	}
	plantest.ServicesFor(0, "")(&s)
	for _, c := range changes {
		c(&s)
	}
	if s.MembershipKnown {
		s.Budget = state.Budget{Exists: true, Current: true, Incarnation: 1, MinAvailable: etcd.Quorum(s.Voters().Total)}
	}
	return s
}

// Restored is a restore into incarnation 2 that has reached step.
func Restored(step v1beta2.RestoreStep) plantest.Change {
	return func(s *state.State) {
		s.Restore = &v1beta2.ClusterRestoreStatus{Name: "back", UID: "uid-back", Step: step, Incarnation: 2, ClusterIDBefore: s.ClusterID}
		switch step {
		case v1beta2.RestoreSwitching:
			s.Restore.ClusterID, s.Restore.Revision = plantest.SeedID, 1000000042
		case v1beta2.RestoreGrowing, v1beta2.RestoreComplete:
			s.Restore.ClusterID, s.Restore.Revision = plantest.SeedID, 1000000042
			s.ClusterID, s.Incarnation = plantest.SeedID, 2
			plantest.ServicesFor(2, plantest.SeedID)(s)
			s.Services.ClientRestoreUID = "uid-back"
		}
	}
}

// Asked is an EtcdRestore back that exists and is verified.
func Asked(s *state.State) {
	s.Request = &state.RestoreRequest{Name: "back", UID: "uid-back", Revision: 42}
}

// SeedName is the name of the first member of the incarnation that the restore makes.
var SeedName = MemberName(2, 0)

// Consenting is a spec that consents that the cluster continues from one survivor.
func Consenting(s *state.State) {
	s.Spec.Recovery = &v1beta2.RecoveryPolicy{QuorumLoss: v1beta2.QuorumLossForceNewCluster}
}

// Knows is a member that answers without a quorum, with this raft index and term.
func Knows(index, term uint64) func(*state.Member) {
	return func(m *state.Member) {
		m.Answers, m.ClusterID, m.RaftIndex, m.RaftTerm = true, 0xaa, index, term
	}
}

// Forcing is a recovery that has chosen the i-th member as the survivor.
func Forcing(i int) plantest.Change {
	return func(s *state.State) {
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: plantest.NameOf(i), RaftIndex: 42, StartedAt: &metav1.Time{Time: plantest.Noon}}
	}
}

// MemberName is the name of a member of the cluster example.
func MemberName(incarnation int32, ordinal int) string {
	return state.InitialNames(state.State{Name: "example", UID: "uid-example"}, incarnation, ordinal+1)[ordinal]
}
