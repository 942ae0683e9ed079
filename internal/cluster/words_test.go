package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// These functions build states, as in package plan: state(formed, members(3), with(1, silent)).

const (
	oldID  = "00000000000000aa"
	seedID = "00000000000000bb"
	gi     = int64(1) << 30
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

type change func(*plan.State)

// state returns a new EtcdCluster of three members, to which each of changes was applied in turn.
func state(changes ...change) plan.State {
	s := plan.State{
		Now: noon, Namespace: "ns", Name: "example", UID: "uid-example",
		Spec: v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16"},
	}
	servicesFor(0, "")(&s)
	for _, c := range changes {
		c(&s)
	}
	if s.MembershipKnown {
		s.Budget = plan.Budget{Exists: true, Current: true, Incarnation: 1, MinAvailable: etcd.Quorum(s.Voters().Total)}
	}
	return s
}

func servicesFor(incarnation int32, clusterID string) change {
	return func(s *plan.State) {
		s.Services = plan.Services{HeadlessCurrent: true, ClientExists: true, ClientCurrent: true, ClientIncarnation: incarnation, ClientClusterID: clusterID}
	}
}

// formed: the cluster has formed.
func formed(s *plan.State) {
	s.ClusterID, s.Incarnation, s.KnownVersion = oldID, 1, "3.6.16"
	servicesFor(1, oldID)(s)
}

func ofVersion(v string) change { return func(s *plan.State) { s.Spec.Version = v } }

func ephemeral(s *plan.State) {
	s.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	for i := range s.Members {
		s.Members[i].Volume = plan.VolumeNone
	}
}

func withTLS(s *plan.State) {
	s.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{
		Member:         &v1beta2.MemberSecret{PeerSecret: "peer-tls", ServerSecret: "server-tls"},
		OperatorSecret: "operator-tls",
	}}
	secure(s)
}

// secure: the members run with TLS and use the current content of the Secrets.
func secure(s *plan.State) {
	for i := range s.Members {
		m := &s.Members[i]
		m.SecurePeer, m.SecureClient = true, true
		m.Trust, m.Loaded = s.Certificates.Trust, s.Certificates.Loaded
	}
}

// members adds n voters that serve. The first one is the leader.
func members(n int) change {
	return func(s *plan.State) {
		s.MembershipKnown = true
		for range n {
			m := plan.Member{Name: memberName(1, len(s.Members)), Incarnation: 1, ID: etcd.ID(len(s.Members) + 1)}
			voter(&m)
			m.Leader = len(s.Members) == 0
			s.KnownVoters = append(s.KnownVoters, m.Name)
			s.Members = append(s.Members, m)
		}
	}
}

func voter(m *plan.Member) {
	onVolume(m)
	m.InMembership, m.Started = true, true
	m.Answers, m.Serving, m.PodReady, m.InService, m.Version, m.ClusterID = true, true, true, true, "3.6.16", 0xaa
}

func onVolume(m *plan.Member) {
	m.Volume, m.Pod, m.PodImage, m.Start = plan.VolumePresent, plan.PodRunning, "quay.io/coreos/etcd:v3.6.16", plan.StartRejoin
}

// with changes the i-th member, or adds it.
func with(i int, changes ...func(*plan.Member)) change {
	return func(s *plan.State) {
		if i == len(s.Members) {
			s.Members = append(s.Members, plan.Member{Name: memberName(1, i), Incarnation: 1, ID: etcd.ID(i + 1)})
		}
		for _, c := range changes {
			c(&s.Members[i])
		}
	}
}

// initial adds n members of a cluster that has not formed. They have only volumes.
func initial(n int) change {
	return func(s *plan.State) {
		for ordinal := range n {
			s.Members = append(s.Members, plan.Member{
				Name: memberName(1, ordinal), Incarnation: 1, InitialSize: n, Volume: plan.VolumePresent,
			})
		}
	}
}

// begun: all volumes of the initial members were created.
func begun(s *plan.State) { s.Incarnation = 1 }

// noQuorum: no member serves, and no member returns the membership.
func noQuorum(s *plan.State) {
	s.MembershipKnown = false
	for i := range s.Members {
		m := &s.Members[i]
		m.InMembership, m.Started, m.Serving, m.Leader, m.PodReady = false, false, false, false, false
		m.UnreadySince = noon.Add(-time.Second)
	}
}

func silent(m *plan.Member) {
	m.Answers, m.Serving, m.PodReady, m.Leader, m.Version = false, false, false, false, ""
}

func withoutPod(m *plan.Member) {
	silent(m)
	m.Pod, m.PodImage, m.InService = plan.PodNone, "", false
}

// gone: the Pod and the volume are missing, and the membership still has the member.
func gone(m *plan.Member) {
	withoutPod(m)
	m.Volume = plan.VolumeNone
}

// justAdded: a learner that exists only in the membership.
func justAdded(m *plan.Member) { m.InMembership, m.Learner = true, true }

// nameOf returns the name of the i-th member of the first incarnation.
func nameOf(i int) string { return memberName(1, i) }

func policy(p v1beta2.PodPolicy) change { return func(s *plan.State) { s.Spec.Pod = &p } }

// restored: a restore into incarnation 2 has reached step.
func restored(step v1beta2.RestoreStep) change {
	return func(s *plan.State) {
		s.Restore = &v1beta2.ClusterRestoreStatus{Name: "back", UID: "uid-back", Step: step, Incarnation: 2, ClusterIDBefore: s.ClusterID}
		switch step {
		case v1beta2.RestoreSwitching:
			s.Restore.ClusterID, s.Restore.Revision = seedID, 1000000042
		case v1beta2.RestoreGrowing, v1beta2.RestoreComplete:
			s.Restore.ClusterID, s.Restore.Revision = seedID, 1000000042
			s.ClusterID, s.Incarnation = seedID, 2
			servicesFor(2, seedID)(s)
			s.Services.ClientRestoreUID = "uid-back"
		}
	}
}

// asked: EtcdRestore back exists and is verified.
func asked(s *plan.State) {
	s.Request = &plan.RestoreRequest{Name: "back", UID: "uid-back", Revision: 42}
}

// seedName is the name of the first member of the incarnation that the restore makes.
var seedName = memberName(2, 0)

// consenting: the spec consents that the cluster continues from one survivor.
func consenting(s *plan.State) {
	s.Spec.Recovery = &v1beta2.RecoveryPolicy{QuorumLoss: v1beta2.QuorumLossForceNewCluster}
}

// knows: the member answers without a quorum, with this raft index and term.
func knows(index, term uint64) func(*plan.Member) {
	return func(m *plan.Member) {
		m.Answers, m.ClusterID, m.RaftIndex, m.RaftTerm = true, 0xaa, index, term
	}
}

// forcing: the i-th member was chosen as the survivor.
func forcing(i int) change {
	return func(s *plan.State) {
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: nameOf(i), RaftIndex: 42}
	}
}

// memberName is the name of a member of the cluster example.
func memberName(incarnation int32, ordinal int) string {
	return plan.State{Name: "example", UID: "uid-example"}.InitialNames(incarnation, ordinal+1)[ordinal]
}

func pod(p plan.PodState) func(*plan.Member) {
	return func(m *plan.Member) {
		silent(m)
		m.Pod, m.UnreadySince = p, noon.Add(-time.Second)
	}
}
