// Package plantest has words that build the states which tests of the plan and of its concepts decide on.
package plantest

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// The functions that build states: StateWith(Formed, Members(3), With(1, Gone)).

const (
	// OldID is the ID of the cluster before a restore.
	OldID = "00000000000000aa"
	// SeedID is the ID of the restored cluster.
	SeedID = "00000000000000bb"
)

// Noon is the time of a new state.
var Noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// Change changes a state.
type Change func(*state.State)

// StateWith returns the State of a new EtcdCluster of size 3, after each of the changes in turn.
func StateWith(changes ...Change) state.State {
	s := state.State{
		Now: Noon, Namespace: "ns", Name: "example", UID: "uid-example",
		Spec: v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16"},
	}
	ServicesFor(0, "")(&s)
	for _, c := range changes {
		c(&s)
	}
	if s.MembershipKnown && s.Budget == (state.Budget{}) {
		s.Budget = BudgetOf(state.MinAvailable(s))
		s.Budget.Incarnation = s.Incarnation
	}
	return s
}

// BudgetOf returns the budget of the first incarnation. Only its number may be wrong.
func BudgetOf(minAvailable int) state.Budget {
	return state.Budget{Exists: true, Current: true, Incarnation: 1, MinAvailable: minAvailable}
}

// ServicesFor has the client Service select an incarnation of a cluster.
func ServicesFor(incarnation int32, clusterID string) Change {
	return func(s *state.State) {
		s.Services = state.Services{HeadlessCurrent: true, ClientExists: true, ClientCurrent: true, ClientIncarnation: incarnation, ClientClusterID: clusterID}
	}
}

// Formed is a cluster that has formed.
func Formed(s *state.State) {
	s.ClusterID, s.Incarnation, s.KnownVersion = OldID, 1, "3.6.16"
	ServicesFor(1, OldID)(s)
}

// Size sets spec.size.
func Size(n int) Change { return func(s *state.State) { s.Spec.Size = n } }

// OfVersion sets the version of etcd in the spec.
func OfVersion(v string) Change { return func(s *state.State) { s.Spec.Version = v } }

// Ephemeral members have their data in the Pod.
func Ephemeral(s *state.State) {
	s.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	for i := range s.Members {
		s.Members[i].Volume = state.VolumeNone
	}
}

// Grace is how long a member may fail before it is replaced.
func Grace(d time.Duration) Change {
	return func(s *state.State) {
		s.Spec.Recovery = &v1beta2.RecoveryPolicy{MemberReplacementGrace: &metav1.Duration{Duration: d}}
	}
}

// NoClass is a cluster without a StorageClass for its volumes.
func NoClass(s *state.State) { s.NoStorageClass = true }

// WithTLS gives the cluster certificates of the user.
func WithTLS(s *state.State) {
	s.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{
		Member:         &v1beta2.MemberSecret{PeerSecret: "peer-tls", ServerSecret: "server-tls"},
		OperatorSecret: "operator-tls",
	}}
	Secure(s)
}

// Managed is a cluster for which the operator has issued the certificates, and all members use them.
func Managed(s *state.State) {
	s.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
	s.Certificates = state.Certificates{Trust: "trust", Loaded: "certificates", CA: state.CertificateAuthority{Exists: true}}
	Secure(s)
}

// FromCertManager is a cluster for which cert-manager has issued the certificates, and all members use them.
func FromCertManager(s *state.State) {
	Managed(s)
	s.Spec.TLS = &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerRef{Name: "issuer"}}}
	s.Certificates.CA, s.Certificates.Requested = state.CertificateAuthority{}, true
}

// Secure members run with TLS and with the contents of the Secrets.
func Secure(s *state.State) {
	for i := range s.Members {
		m := &s.Members[i]
		m.SecurePeer, m.SecureClient = true, true
		m.Trust, m.Loaded = s.Certificates.Trust, s.Certificates.Loaded
	}
}

// Certs changes what is known of the certificates.
func Certs(set func(*state.Certificates)) Change {
	return func(s *state.State) { set(&s.Certificates) }
}

// Members adds n voters that serve. The first one leads.
func Members(n int) Change {
	return func(s *state.State) {
		s.MembershipKnown = true
		for range n {
			m := state.Member{Name: state.MemberName(s.Name, s.UID, 1, len(s.Members)), Incarnation: 1, ID: etcd.ID(len(s.Members) + 1)}
			Voter(&m)
			m.Leader = len(s.Members) == 0
			s.KnownVoters = append(s.KnownVoters, m.Name)
			s.Members = append(s.Members, m)
		}
	}
}

// Voter is a member that votes and serves.
func Voter(m *state.Member) {
	OnVolume(m)
	m.InMembership, m.Started = true, true
	m.Answers, m.Serving, m.PodReady, m.InService, m.Version, m.ClusterID = true, true, true, true, "3.6.16", 0xaa
}

// OnVolume is a member with a volume, whose Pod runs.
func OnVolume(m *state.Member) {
	m.Volume, m.Pod, m.PodImage, m.Start = state.VolumePresent, state.PodRunning, "quay.io/coreos/etcd:v3.6.16", state.StartRejoin
}

// With changes the i-th member, or adds it.
func With(i int, changes ...func(*state.Member)) Change {
	return func(s *state.State) {
		if i == len(s.Members) {
			s.Members = append(s.Members, state.Member{Name: state.MemberName(s.Name, s.UID, 1, i), Incarnation: 1, ID: etcd.ID(i + 1)})
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
				Name: state.MemberName(s.Name, s.UID, 1, ordinal), Incarnation: 1, InitialSize: n, Volume: state.VolumePresent,
			})
		}
	}
}

// Begun is a cluster all of whose initial members have their volumes.
func Begun(s *state.State) { s.Incarnation = 1 }

// NoQuorum is a cluster of which no member serves, and no member reports the membership.
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

// Gone is a member that has neither Pod nor volume, and its entry in the membership is kept.
func Gone(m *state.Member) {
	WithoutPod(m)
	m.Volume = state.VolumeNone
}

// Pod is a member whose Pod is in that state.
func Pod(p state.PodState) func(*state.Member) {
	return func(m *state.Member) {
		Silent(m)
		m.Pod, m.UnreadySince = p, Noon.Add(-time.Second)
	}
}

// BlockedBy is a member whose Pod is blocked for that reason.
func BlockedBy(reason string) func(*state.Member) {
	return func(m *state.Member) {
		OnVolume(m)
		Pod(state.PodBlocked)(m)
		m.PodReason, m.PodMessage = reason, "why"
	}
}

// Damaged is a member whose data is corrupt.
func Damaged(m *state.Member) { m.Corrupt = true }

// UnreadyFor is a member that the operator has seen fail for as long as its Pod has not been ready.
func UnreadyFor(d time.Duration) func(*state.Member) {
	return func(m *state.Member) { m.UnreadySince, m.FailingSince = Noon.Add(-d), Noon.Add(-d) }
}

// Volume sets the state of the volume of a member.
func Volume(v state.VolumeState) func(*state.Member) { return func(m *state.Member) { m.Volume = v } }

// WithImage is a member that runs that version.
func WithImage(v string) func(*state.Member) {
	return func(m *state.Member) { m.PodImage, m.Version = "quay.io/coreos/etcd:v"+v, v }
}

// Learner is a member that is a learner, runs and has not been promoted.
func Learner(m *state.Member) {
	Voter(m)
	m.Learner, m.Serving, m.PodReady, m.InService, m.Start = true, false, false, false, state.StartJoin
}

// JustAdded is a learner that is only in the membership.
func JustAdded(m *state.Member) { m.InMembership, m.Learner = true, true }

// Joining is a member whose Pod was created for a membership of the first n.
func Joining(n int) func(*state.Member) {
	return func(m *state.Member) {
		var names []string
		for i := range n {
			names = append(names, NameOf(i))
		}
		slices.Sort(names)
		m.Start, m.Peers = state.StartJoin, strings.Join(names, ",")
	}
}

// Removed is a member that is no longer in the membership.
func Removed(m *state.Member) {
	Silent(m)
	m.InMembership, m.Started = false, false
}

// NameOf returns the name of the i-th member of the first incarnation.
func NameOf(i int) string { return state.MemberName("example", "uid-example", 1, i) }

// PeerURLOf returns the peer URL of the i-th member of the first incarnation.
func PeerURLOf(i int) string { return "http://" + NameOf(i) + ".example.ns.svc:2380" }

// Policy sets spec.pod.
func Policy(p v1beta2.PodPolicy) Change { return func(s *state.State) { s.Spec.Pod = &p } }

// StillRuns is the message about a Pod whose node does not confirm that it has stopped.
func StillRuns(pod string) string {
	return "Pod " + pod + " should have stopped, but its node does not confirm it. It may still run, so the operator waits. " +
		"Make sure that the node is off. Then delete the Pod with --force --grace-period=0."
}
