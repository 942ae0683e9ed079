// Package clustertest has states, objects and API servers that the tests of several packages use.
package clustertest

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// These functions build states: State(Formed, Members(3), With(1, Silent)).

const (
	// OldID is the ID of the cluster before a restore.
	OldID = "00000000000000aa"
	// SeedID is the ID of the restored cluster.
	SeedID = "00000000000000bb"
	// Gi is a gibibyte.
	Gi = int64(1) << 30
)

// Noon is the time of a new state.
var Noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// Change changes a state.
type Change func(*state.State)

// State returns a new EtcdCluster of three members, to which each of changes was applied in turn.
func State(changes ...Change) state.State {
	s := state.State{
		Now: Noon, Namespace: "ns", Name: "example", UID: "uid-example",
		Spec: v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16"},
	}
	servicesFor(0, "")(&s)
	for _, c := range changes {
		c(&s)
	}
	if s.MembershipKnown {
		s.Budget = state.Budget{Exists: true, Current: true, Incarnation: 1, MinAvailable: etcd.Quorum(s.Voters().Total)}
	}
	return s
}

func servicesFor(incarnation int32, clusterID string) Change {
	return func(s *state.State) {
		s.Services = state.Services{HeadlessCurrent: true, ClientExists: true, ClientCurrent: true, ClientIncarnation: incarnation, ClientClusterID: clusterID}
	}
}

// Formed is a cluster that has formed.
func Formed(s *state.State) {
	s.ClusterID, s.Incarnation, s.KnownVersion = OldID, 1, "3.6.16"
	servicesFor(1, OldID)(s)
}

// OfVersion sets the version of etcd.
func OfVersion(v string) Change { return func(s *state.State) { s.Spec.Version = v } }

// Ephemeral members have their data in the Pod.
func Ephemeral(s *state.State) {
	s.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	for i := range s.Members {
		s.Members[i].Volume = state.VolumeNone
	}
}

// WithTLS gives the cluster certificates of the user.
func WithTLS(s *state.State) {
	s.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{
		Member:         &v1beta2.MemberSecret{PeerSecret: "peer-tls", ServerSecret: "server-tls"},
		OperatorSecret: "operator-tls",
	}}
	Secure(s)
}

// Secure members run with TLS and use the current content of the Secrets.
func Secure(s *state.State) {
	for i := range s.Members {
		m := &s.Members[i]
		m.SecurePeer, m.SecureClient = true, true
		m.Trust, m.Loaded = s.Certificates.Trust, s.Certificates.Loaded
	}
}

// Members adds n voters that serve. The first one is the leader.
func Members(n int) Change {
	return func(s *state.State) {
		s.MembershipKnown = true
		for range n {
			m := state.Member{Name: MemberName(1, len(s.Members)), Incarnation: 1, ID: etcd.ID(len(s.Members) + 1)}
			voter(&m)
			m.Leader = len(s.Members) == 0
			s.KnownVoters = append(s.KnownVoters, m.Name)
			s.Members = append(s.Members, m)
		}
	}
}

func voter(m *state.Member) {
	onVolume(m)
	m.InMembership, m.Started = true, true
	m.Answers, m.Serving, m.PodReady, m.InService, m.Version, m.ClusterID = true, true, true, true, "3.6.16", 0xaa
}

func onVolume(m *state.Member) {
	m.Volume, m.Pod, m.PodImage, m.Start = state.VolumePresent, state.PodRunning, "quay.io/coreos/etcd:v3.6.16", state.StartRejoin
}

// With changes the i-th member, or adds it.
func With(i int, changes ...func(*state.Member)) Change {
	return func(s *state.State) {
		if i == len(s.Members) {
			s.Members = append(s.Members, state.Member{Name: MemberName(1, i), Incarnation: 1, ID: etcd.ID(i + 1)})
		}
		for _, c := range changes {
			c(&s.Members[i])
		}
	}
}

// Initial adds n members of a cluster that has not formed. They have only volumes.
func Initial(n int) Change {
	return func(s *state.State) {
		for ordinal := range n {
			s.Members = append(s.Members, state.Member{
				Name: MemberName(1, ordinal), Incarnation: 1, InitialSize: n, Volume: state.VolumePresent,
			})
		}
	}
}

// Begun is a cluster all of whose initial members have their volumes.
func Begun(s *state.State) { s.Incarnation = 1 }

// NoQuorum is a cluster of which no member serves, and no member returns the membership.
func NoQuorum(s *state.State) {
	s.MembershipKnown = false
	for i := range s.Members {
		m := &s.Members[i]
		m.InMembership, m.Started, m.Serving, m.Leader, m.PodReady = false, false, false, false, false
		m.UnreadySince = Noon.Add(-time.Second)
	}
}

// Silent is a member that does not answer.
func Silent(m *state.Member) {
	m.Answers, m.Serving, m.PodReady, m.Leader, m.Version = false, false, false, false, ""
}

// WithoutPod is a member without a Pod.
func WithoutPod(m *state.Member) {
	Silent(m)
	m.Pod, m.PodImage, m.InService = state.PodNone, "", false
}

// Gone is a member without a Pod and a volume, which the membership still has.
func Gone(m *state.Member) {
	WithoutPod(m)
	m.Volume = state.VolumeNone
}

// justAdded: a learner that exists only in the membership.
func justAdded(m *state.Member) { m.InMembership, m.Learner = true, true }

// NameOf returns the name of the i-th member of the first incarnation.
func NameOf(i int) string { return MemberName(1, i) }

// Policy sets spec.pod.
func Policy(p v1beta2.PodPolicy) Change { return func(s *state.State) { s.Spec.Pod = &p } }

// Restored is a restore into incarnation 2 that has reached step.
func Restored(step v1beta2.RestoreStep) Change {
	return func(s *state.State) {
		s.Restore = &v1beta2.ClusterRestoreStatus{Name: "back", UID: "uid-back", Step: step, Incarnation: 2, ClusterIDBefore: s.ClusterID}
		switch step {
		case v1beta2.RestoreSwitching:
			s.Restore.ClusterID, s.Restore.Revision = SeedID, 1000000042
		case v1beta2.RestoreGrowing, v1beta2.RestoreComplete:
			s.Restore.ClusterID, s.Restore.Revision = SeedID, 1000000042
			s.ClusterID, s.Incarnation = SeedID, 2
			servicesFor(2, SeedID)(s)
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
func Forcing(i int) Change {
	return func(s *state.State) {
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: NameOf(i), RaftIndex: 42, StartedAt: &metav1.Time{Time: Noon}}
	}
}

// MemberName is the name of a member of the cluster example.
func MemberName(incarnation int32, ordinal int) string {
	return state.InitialNames(state.State{Name: "example", UID: "uid-example"}, incarnation, ordinal+1)[ordinal]
}

// Pod is a member whose Pod is in that state.
func Pod(p state.PodState) func(*state.Member) {
	return func(m *state.Member) {
		Silent(m)
		m.Pod, m.UnreadySince = p, Noon.Add(-time.Second)
	}
}
