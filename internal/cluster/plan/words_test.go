package plan

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

// The functions that build states: stateWith(formed, members(3), with(1, gone)).

const (
	oldID  = "00000000000000aa"
	seedID = "00000000000000bb"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

type change func(*state.State)

// stateWith returns the State of a new EtcdCluster of size 3, after each of the changes in turn.
func stateWith(changes ...change) state.State {
	s := state.State{
		Now: noon, Namespace: "ns", Name: "example", UID: "uid-example",
		Spec: v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16"},
	}
	servicesFor(0, "")(&s)
	for _, c := range changes {
		c(&s)
	}
	if s.MembershipKnown && s.Budget == (state.Budget{}) {
		s.Budget = budgetOf(state.MinAvailable(s))
		s.Budget.Incarnation = s.Incarnation
	}
	return s
}

// budgetOf returns the budget of the first incarnation. Only its number may be wrong.
func budgetOf(minAvailable int) state.Budget {
	return state.Budget{Exists: true, Current: true, Incarnation: 1, MinAvailable: minAvailable}
}

func servicesFor(incarnation int32, clusterID string) change {
	return func(s *state.State) {
		s.Services = state.Services{HeadlessCurrent: true, ClientExists: true, ClientCurrent: true, ClientIncarnation: incarnation, ClientClusterID: clusterID}
	}
}

// formed: the cluster has formed.
func formed(s *state.State) {
	s.ClusterID, s.Incarnation, s.KnownVersion = oldID, 1, "3.6.16"
	servicesFor(1, oldID)(s)
}

func size(n int) change { return func(s *state.State) { s.Spec.Size = n } }

func ofVersion(v string) change { return func(s *state.State) { s.Spec.Version = v } }

func ephemeral(s *state.State) {
	s.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	for i := range s.Members {
		s.Members[i].Volume = state.VolumeNone
	}
}

func grace(d time.Duration) change {
	return func(s *state.State) {
		s.Spec.Recovery = &v1beta2.RecoveryPolicy{MemberReplacementGrace: &metav1.Duration{Duration: d}}
	}
}

func noClass(s *state.State) { s.NoStorageClass = true }

func withTLS(s *state.State) {
	s.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{
		Member:         &v1beta2.MemberSecret{PeerSecret: "peer-tls", ServerSecret: "server-tls"},
		OperatorSecret: "operator-tls",
	}}
	secure(s)
}

// managed: the operator has issued the certificates, and all members use them.
func managed(s *state.State) {
	s.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
	s.Certificates = state.Certificates{Trust: "trust", Loaded: "certificates", CA: state.CertificateAuthority{Exists: true}}
	secure(s)
}

// fromCertManager: cert-manager has issued the certificates, and all members use them.
func fromCertManager(s *state.State) {
	managed(s)
	s.Spec.TLS = &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerRef{Name: "issuer"}}}
	s.Certificates.CA, s.Certificates.Requested = state.CertificateAuthority{}, true
}

// secure: the members run with TLS and with the contents of the Secrets.
func secure(s *state.State) {
	for i := range s.Members {
		m := &s.Members[i]
		m.SecurePeer, m.SecureClient = true, true
		m.Trust, m.Loaded = s.Certificates.Trust, s.Certificates.Loaded
	}
}

func certs(set func(*state.Certificates)) change {
	return func(s *state.State) { set(&s.Certificates) }
}

// members adds n voters that serve. The first one leads.
func members(n int) change {
	return func(s *state.State) {
		s.MembershipKnown = true
		for range n {
			m := state.Member{Name: state.MemberName(s.Name, s.UID, 1, len(s.Members)), Incarnation: 1, ID: etcd.ID(len(s.Members) + 1)}
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

// with changes the i-th member, or adds it.
func with(i int, changes ...func(*state.Member)) change {
	return func(s *state.State) {
		if i == len(s.Members) {
			s.Members = append(s.Members, state.Member{Name: state.MemberName(s.Name, s.UID, 1, i), Incarnation: 1, ID: etcd.ID(i + 1)})
		}
		for _, c := range changes {
			c(&s.Members[i])
		}
	}
}

// initial adds n members of a cluster that has not formed. They have only volumes.
func initial(n int) change {
	return func(s *state.State) {
		for ordinal := range n {
			s.Members = append(s.Members, state.Member{
				Name: state.MemberName(s.Name, s.UID, 1, ordinal), Incarnation: 1, InitialSize: n, Volume: state.VolumePresent,
			})
		}
	}
}

// begun: all volumes of the initial members were created.
func begun(s *state.State) { s.Incarnation = 1 }

// noQuorum: no member serves, and no member reports the membership.
func noQuorum(s *state.State) {
	s.MembershipKnown = false
	for i := range s.Members {
		m := &s.Members[i]
		m.InMembership, m.Started, m.Serving, m.Leader, m.PodReady = false, false, false, false, false
		m.UnreadySince = noon.Add(-time.Second)
	}
}

func silent(m *state.Member) {
	m.Answers, m.Serving, m.PodReady, m.Leader, m.Version = false, false, false, false, ""
}

func withoutPod(m *state.Member) {
	silent(m)
	m.Pod, m.PodImage, m.InService = state.PodNone, "", false
}

// gone: the member has neither Pod nor volume, and its entry in the membership is kept.
func gone(m *state.Member) {
	withoutPod(m)
	m.Volume = state.VolumeNone
}

func pod(p state.PodState) func(*state.Member) {
	return func(m *state.Member) {
		silent(m)
		m.Pod, m.UnreadySince = p, noon.Add(-time.Second)
	}
}

func blockedBy(reason string) func(*state.Member) {
	return func(m *state.Member) {
		onVolume(m)
		pod(state.PodBlocked)(m)
		m.PodReason, m.PodMessage = reason, "why"
	}
}

func damaged(m *state.Member) { m.Corrupt = true }

// unreadyFor: the operator has seen the member fail for as long as its Pod has not been ready.
func unreadyFor(d time.Duration) func(*state.Member) {
	return func(m *state.Member) { m.UnreadySince, m.FailingSince = noon.Add(-d), noon.Add(-d) }
}

func volume(v state.VolumeState) func(*state.Member) { return func(m *state.Member) { m.Volume = v } }

func withImage(v string) func(*state.Member) {
	return func(m *state.Member) { m.PodImage, m.Version = "quay.io/coreos/etcd:v"+v, v }
}

// learner: the member is a learner that runs and has not been promoted.
func learner(m *state.Member) {
	voter(m)
	m.Learner, m.Serving, m.PodReady, m.InService, m.Start = true, false, false, false, state.StartJoin
}

// justAdded: the member is a learner that is only in the membership.
func justAdded(m *state.Member) { m.InMembership, m.Learner = true, true }

// joining: its Pod was created for a membership of the first n.
func joining(n int) func(*state.Member) {
	return func(m *state.Member) {
		var names []string
		for i := range n {
			names = append(names, nameOf(i))
		}
		slices.Sort(names)
		m.Start, m.Peers = state.StartJoin, strings.Join(names, ",")
	}
}

// removed: no longer in the membership.
func removed(m *state.Member) {
	silent(m)
	m.InMembership, m.Started = false, false
}

// nameOf returns the name of the i-th member of the first incarnation.
func nameOf(i int) string { return state.MemberName("example", "uid-example", 1, i) }

func peerURLOf(i int) string { return "http://" + nameOf(i) + ".example.ns.svc:2380" }

func policy(p v1beta2.PodPolicy) change { return func(s *state.State) { s.Spec.Pod = &p } }

// stillRuns is the message about a Pod whose node does not confirm that it has stopped.
func stillRuns(pod string) string {
	return "Pod " + pod + " should have stopped, but its node does not confirm it. It may still run, so the operator waits. " +
		"Make sure that the node is off. Then delete the Pod with --force --grace-period=0."
}
