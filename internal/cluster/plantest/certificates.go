package plantest

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// InPods means that the members have their data in their Pods, and the spec now asks for volumes.
func InPods(s *state.State) {
	for i := range s.Members {
		m := &s.Members[i]
		m.Volume, m.DataInPod, m.Outdated = state.VolumeNone, true, true
	}
}

// OntoPods means that the members have their data on volumes, and the spec now asks for emptyDir.
func OntoPods(s *state.State) {
	s.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	for i := range s.Members {
		s.Members[i].Outdated = true
	}
}

// StaticTLS means that the peers use certificates from a Secret that the spec names.
func StaticTLS(s *state.State) {
	s.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{PeerSecret: "peer-tls"}}}
	for i := range s.Members {
		s.Members[i].SecurePeer = true
	}
}

// WithEnv gives etcd environment variables.
func WithEnv(variables ...corev1.EnvVar) Change {
	return func(s *state.State) { s.Spec.Pod = &v1beta2.PodPolicy{EtcdEnv: variables} }
}

// Of peers and their certificates.
var (
	// LacksName means that the certificate of the peers lacks a name.
	LacksName = Certs(func(c *state.Certificates) { c.PeerLacksName = true })
	// Checks is a member that compares the names of its peers.
	Checks = func(m *state.Member) { m.ChecksPeers = true }
	// HasForeign means that another party added a member.
	HasForeign = func(s *state.State) { s.ForeignMembers = []state.ForeignMember{{ID: etcd.ID(7)}} }
)

// Year is 365 days.
const Year = 365 * 24 * time.Hour
