package cluster_test

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

const (
	version  = "3.6.16"
	outdated = "3.6.15"
)

func image(version string) string { return v1beta2.DefaultRepository + ":v" + version }

// condition is one way in which a member of a formed cluster may be found.
type condition struct {
	name string
	set  func(*cluster.Member)
}

var (
	ready = condition{"ready", func(m *cluster.Member) {
		votes(m)
		runs(m)
	}}
	outdatedReady = condition{"outdated", func(m *cluster.Member) {
		votes(m)
		runs(m)
		m.PodImage = image(outdated)
	}}
	starting = condition{"starting", func(m *cluster.Member) {
		votes(m)
		has(m, cluster.PodStarting)
	}}
	missing = condition{"missing", func(m *cluster.Member) {
		votes(m)
		m.Volume = cluster.VolumePresent
	}}
	ended = condition{"ended", func(m *cluster.Member) {
		votes(m)
		has(m, cluster.PodEnded)
	}}
	deleting = condition{"deleting", func(m *cluster.Member) {
		votes(m)
		has(m, cluster.PodDeleting)
	}}
	unschedulable = condition{"unschedulable", func(m *cluster.Member) {
		votes(m)
		has(m, cluster.PodBlocked)
		m.PodReason = v1beta2.ReasonPodUnschedulable
	}}
	crashing = condition{"crashing", func(m *cluster.Member) {
		votes(m)
		has(m, cluster.PodBlocked)
		m.PodReason = v1beta2.ReasonPodFailing
	}}
	hung = condition{"hung", func(m *cluster.Member) {
		votes(m)
		has(m, cluster.PodRunning)
	}}
	lost        = condition{"lost", votes}
	lostWithPod = condition{"lost, Pod waits", func(m *cluster.Member) {
		votes(m)
		has(m, cluster.PodBlocked)
		m.Volume, m.PodReason = cluster.VolumeNone, v1beta2.ReasonPodUnschedulable
	}}
	losing = condition{"losing", func(m *cluster.Member) {
		votes(m)
		m.Volume = cluster.VolumeDeleting
	}}
	neverStarted = condition{"never started", func(m *cluster.Member) {
		votes(m)
		has(m, cluster.PodBlocked)
		m.Started, m.Start, m.InitialSize, m.PodReason = false, cluster.StartNew, 3, v1beta2.ReasonPodUnschedulable
	}}
	neverStartedMissing = condition{"never started, missing", func(m *cluster.Member) {
		votes(m)
		m.Started, m.Volume = false, cluster.VolumePresent
	}}
	neverStartedLost = condition{"never started, lost", func(m *cluster.Member) {
		votes(m)
		m.Started = false
	}}
	learner = condition{"learner", func(m *cluster.Member) {
		votes(m)
		runs(m)
		m.Learner, m.Serving, m.PodReady, m.Exposed = true, false, false, false
	}}
	learnerAdded = condition{"learner, just added", func(m *cluster.Member) {
		votes(m)
		m.Learner, m.Started = true, false
	}}
	learnerStarting = condition{"learner, starting", func(m *cluster.Member) {
		votes(m)
		has(m, cluster.PodBlocked)
		m.Learner, m.Started, m.Start, m.PodReason = true, false, cluster.StartJoin, v1beta2.ReasonPodUnschedulable
	}}
	learnerLost = condition{"learner, lost", func(m *cluster.Member) {
		votes(m)
		m.Learner = true
	}}
	losingReady = condition{"losing, ready", func(m *cluster.Member) {
		votes(m)
		runs(m)
		m.Volume = cluster.VolumeDeleting
	}}
	learnerLosing = condition{"learner, losing", func(m *cluster.Member) {
		votes(m)
		runs(m)
		m.Volume = cluster.VolumeDeleting
		m.Learner, m.Serving, m.PodReady, m.Exposed = true, false, false, false
	}}
	removed = condition{"removed", func(m *cluster.Member) {
		has(m, cluster.PodRunning)
	}}
	removedVolume = condition{"removed, volume", func(m *cluster.Member) {
		m.Volume = cluster.VolumePresent
	}}
)

func votes(m *cluster.Member) { m.InMembership, m.Started = true, true }

func has(m *cluster.Member, pod cluster.Pod) {
	m.Pod, m.Volume, m.PodImage, m.Start, m.Exposed = pod, cluster.VolumePresent, image(version), cluster.StartRejoin, true
}

func runs(m *cluster.Member) {
	has(m, cluster.PodRunning)
	m.Answers, m.Serving, m.PodReady, m.Version = true, true, true, version
}

func (c condition) learns() bool { return strings.HasPrefix(c.name, "learner") }

// formed is a State of a cluster that has formed, with members in the conditions given.
func formed(size int, durable bool, conditions []condition) cluster.State {
	const clusterID = etcd.ID(0xabc)
	s := cluster.State{
		Namespace: "ns", Name: "example", UID: "uid-example",
		Spec:      v1beta2.EtcdClusterSpec{Size: size, Version: version},
		ClusterID: clusterID.String(), Incarnation: 1, KnownVersion: version,
		MembershipKnown: true,
	}
	if !durable {
		s.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	}
	s.Services = cluster.Services{HeadlessCurrent: true, ClientExists: true, ClientCurrent: true, ClientIncarnation: 1, ClientClusterID: s.ClusterID}
	for i, name := range s.InitialNames(1, len(conditions)) {
		m := cluster.Member{Name: name, Incarnation: 1}
		conditions[i].set(&m)
		if m.InMembership {
			m.ID = etcd.ID(i + 1)
			m.ClusterID = clusterID
			if !m.Learner {
				s.KnownVoters = append(s.KnownVoters, name)
			}
		}
		if !durable {
			m.Volume = cluster.VolumeNone
		}
		s.Members = append(s.Members, m)
	}
	for i, m := range s.Members {
		if m.Start == cluster.StartJoin {
			s.Members[i].Peers = strings.Join(s.JoinPeers(m.Name), ",")
		}
	}
	return s
}

// multisets calls each with every multiset of n of the conditions.
func multisets(all []condition, n int, each func([]condition)) {
	chosen := make([]condition, n)
	var choose func(at, from int)
	choose = func(at, from int) {
		if at == n {
			each(chosen)
			return
		}
		for i := from; i < len(all); i++ {
			chosen[at] = all[i]
			next := i
			if all[i].learns() {
				next = i + 1
				for next < len(all) && all[next].learns() {
					next++
				}
			}
			choose(at+1, next)
		}
	}
	choose(0, 0)
}

func words(conditions []condition) string {
	var names []string
	for _, c := range conditions {
		names = append(names, c.name)
	}
	return strings.Join(names, " | ")
}
