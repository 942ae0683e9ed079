package plan

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// The functions that build states: state(formed, members(3), with(1, gone)).

const (
	oldID  = "00000000000000aa"
	seedID = "00000000000000bb"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

type change func(*State)

// state returns the State of a new EtcdCluster of size 3, after each of the changes in turn.
func state(changes ...change) State {
	s := State{
		Now: noon, Namespace: "ns", Name: "example", UID: "uid-example",
		Spec: v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16"},
	}
	servicesFor(0, "")(&s)
	for _, c := range changes {
		c(&s)
	}
	if s.MembershipKnown && s.Budget == (Budget{}) {
		s.Budget = budgetOf(s.minAvailable())
		s.Budget.Incarnation = s.Incarnation
	}
	return s
}

// budgetOf returns the budget of the first incarnation. Only its number may be wrong.
func budgetOf(minAvailable int) Budget {
	return Budget{Exists: true, Current: true, Incarnation: 1, MinAvailable: minAvailable}
}

func servicesFor(incarnation int32, clusterID string) change {
	return func(s *State) {
		s.Services = Services{HeadlessCurrent: true, ClientExists: true, ClientCurrent: true, ClientIncarnation: incarnation, ClientClusterID: clusterID}
	}
}

// formed: the cluster has formed.
func formed(s *State) {
	s.ClusterID, s.Incarnation, s.KnownVersion = oldID, 1, "3.6.16"
	servicesFor(1, oldID)(s)
}

func size(n int) change { return func(s *State) { s.Spec.Size = n } }

func ofVersion(v string) change { return func(s *State) { s.Spec.Version = v } }

func ephemeral(s *State) {
	s.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	for i := range s.Members {
		s.Members[i].Volume = VolumeNone
	}
}

func grace(d time.Duration) change {
	return func(s *State) {
		s.Spec.Recovery = &v1beta2.RecoveryPolicy{MemberReplacementGrace: &metav1.Duration{Duration: d}}
	}
}

func noClass(s *State) { s.NoStorageClass = true }

func withTLS(s *State) {
	s.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{
		Member:         &v1beta2.MemberSecret{PeerSecret: "peer-tls", ServerSecret: "server-tls"},
		OperatorSecret: "operator-tls",
	}}
	secure(s)
}

// managed: the operator has issued the certificates, and all members use them.
func managed(s *State) {
	s.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
	s.Certificates = Certificates{Trust: "trust", Loaded: "certificates", CA: CertificateAuthority{Exists: true}}
	secure(s)
}

// fromCertManager: cert-manager has issued the certificates, and all members use them.
func fromCertManager(s *State) {
	managed(s)
	s.Spec.TLS = &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerRef{Name: "issuer"}}}
	s.Certificates.CA, s.Certificates.Requested = CertificateAuthority{}, true
}

// secure: the members run with TLS and with the contents of the Secrets.
func secure(s *State) {
	for i := range s.Members {
		m := &s.Members[i]
		m.SecurePeer, m.SecureClient = true, true
		m.Trust, m.Loaded = s.Certificates.Trust, s.Certificates.Loaded
	}
}

func certs(set func(*Certificates)) change { return func(s *State) { set(&s.Certificates) } }

// members adds n voters that serve. The first one leads.
func members(n int) change {
	return func(s *State) {
		s.MembershipKnown = true
		for range n {
			m := Member{Name: memberName(s.Name, s.UID, 1, len(s.Members)), Incarnation: 1, ID: etcd.ID(len(s.Members) + 1)}
			voter(&m)
			m.Leader = len(s.Members) == 0
			s.KnownVoters = append(s.KnownVoters, m.Name)
			s.Members = append(s.Members, m)
		}
	}
}

func voter(m *Member) {
	onVolume(m)
	m.InMembership, m.Started = true, true
	m.Answers, m.Serving, m.PodReady, m.InService, m.Version, m.ClusterID = true, true, true, true, "3.6.16", 0xaa
}

func onVolume(m *Member) {
	m.Volume, m.Pod, m.PodImage, m.Start = VolumePresent, PodRunning, "quay.io/coreos/etcd:v3.6.16", StartRejoin
}

// with changes the i-th member, or adds it.
func with(i int, changes ...func(*Member)) change {
	return func(s *State) {
		if i == len(s.Members) {
			s.Members = append(s.Members, Member{Name: memberName(s.Name, s.UID, 1, i), Incarnation: 1, ID: etcd.ID(i + 1)})
		}
		for _, c := range changes {
			c(&s.Members[i])
		}
	}
}

// initial adds n members of a cluster that has not formed. They have only volumes.
func initial(n int) change {
	return func(s *State) {
		for ordinal := range n {
			s.Members = append(s.Members, Member{
				Name: memberName(s.Name, s.UID, 1, ordinal), Incarnation: 1, InitialSize: n, Volume: VolumePresent,
			})
		}
	}
}

// begun: all volumes of the initial members were created.
func begun(s *State) { s.Incarnation = 1 }

// noQuorum: no member serves, and no member reports the membership.
func noQuorum(s *State) {
	s.MembershipKnown = false
	for i := range s.Members {
		m := &s.Members[i]
		m.InMembership, m.Started, m.Serving, m.Leader, m.PodReady = false, false, false, false, false
		m.UnreadySince = noon.Add(-time.Second)
	}
}

func silent(m *Member) {
	m.Answers, m.Serving, m.PodReady, m.Leader, m.Version = false, false, false, false, ""
}

func withoutPod(m *Member) {
	silent(m)
	m.Pod, m.PodImage, m.InService = PodNone, "", false
}

// gone: the member has neither Pod nor volume, and its entry in the membership is kept.
func gone(m *Member) {
	withoutPod(m)
	m.Volume = VolumeNone
}

func pod(p PodState) func(*Member) {
	return func(m *Member) {
		silent(m)
		m.Pod, m.UnreadySince = p, noon.Add(-time.Second)
	}
}

func blockedBy(reason string) func(*Member) {
	return func(m *Member) {
		onVolume(m)
		pod(PodBlocked)(m)
		m.PodReason, m.PodMessage = reason, "why"
	}
}

func damaged(m *Member) { m.Corrupt = true }

// unreadyFor: the operator has seen the member fail for as long as its Pod has not been ready.
func unreadyFor(d time.Duration) func(*Member) {
	return func(m *Member) { m.UnreadySince, m.FailingSince = noon.Add(-d), noon.Add(-d) }
}

func volume(v VolumeState) func(*Member) { return func(m *Member) { m.Volume = v } }

func withImage(v string) func(*Member) {
	return func(m *Member) { m.PodImage, m.Version = "quay.io/coreos/etcd:v"+v, v }
}

// learner: the member is a learner that runs and has not been promoted.
func learner(m *Member) {
	voter(m)
	m.Learner, m.Serving, m.PodReady, m.InService, m.Start = true, false, false, false, StartJoin
}

// justAdded: the member is a learner that is only in the membership.
func justAdded(m *Member) { m.InMembership, m.Learner = true, true }

// joining: its Pod was created for a membership of the first n.
func joining(n int) func(*Member) {
	return func(m *Member) {
		var names []string
		for i := range n {
			names = append(names, nameOf(i))
		}
		slices.Sort(names)
		m.Start, m.Peers = StartJoin, strings.Join(names, ",")
	}
}

// removed: no longer in the membership.
func removed(m *Member) {
	silent(m)
	m.InMembership, m.Started = false, false
}

// nameOf returns the name of the i-th member of the first incarnation.
func nameOf(i int) string { return memberName("example", "uid-example", 1, i) }

func peerURLOf(i int) string { return "http://" + nameOf(i) + ".example.ns.svc:2380" }

func policy(p v1beta2.PodPolicy) change { return func(s *State) { s.Spec.Pod = &p } }

// stillRuns is the message about a Pod whose node does not confirm that it has stopped.
func stillRuns(pod string) string {
	return "Pod " + pod + " should have stopped, but its node does not confirm it. It may still run, so the operator waits. " +
		"Make sure that the node is off. Then delete the Pod with --force --grace-period=0."
}
