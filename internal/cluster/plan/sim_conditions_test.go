package plan_test

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

const (
	version  = "3.6.16"
	outdated = "3.6.15"
)

func image(version string) string { return v1beta2.DefaultRepository + ":v" + version }

// condition is a state that a member of a formed cluster may be in.
type condition struct {
	name string
	set  func(*plan.Member)
}

var (
	ready = condition{"ready", func(m *plan.Member) {
		votes(m)
		runs(m)
	}}
	outdatedReady = condition{"outdated", func(m *plan.Member) {
		votes(m)
		runs(m)
		m.PodImage = image(outdated)
	}}
	starting = condition{"starting", func(m *plan.Member) {
		votes(m)
		has(m, plan.PodStarting)
	}}
	missing = condition{"missing", func(m *plan.Member) {
		votes(m)
		m.Volume = plan.VolumePresent
	}}
	ended = condition{"ended", func(m *plan.Member) {
		votes(m)
		has(m, plan.PodEnded)
	}}
	deleting = condition{"deleting", func(m *plan.Member) {
		votes(m)
		has(m, plan.PodDeleting)
	}}
	unschedulable = condition{"unschedulable", func(m *plan.Member) {
		votes(m)
		has(m, plan.PodBlocked)
		m.PodReason = v1beta2.ReasonPodUnschedulable
	}}
	crashing = condition{"crashing", func(m *plan.Member) {
		votes(m)
		has(m, plan.PodBlocked)
		m.PodReason = v1beta2.ReasonPodFailing
	}}
	hung = condition{"hung", func(m *plan.Member) {
		votes(m)
		has(m, plan.PodRunning)
	}}
	lost        = condition{"lost", votes}
	lostWithPod = condition{"lost, Pod waits", func(m *plan.Member) {
		votes(m)
		has(m, plan.PodBlocked)
		m.Volume, m.PodReason = plan.VolumeNone, v1beta2.ReasonPodUnschedulable
	}}
	losing = condition{"volume being deleted", func(m *plan.Member) {
		votes(m)
		m.Volume = plan.VolumeDeleting
	}}
	neverStarted = condition{"never started", func(m *plan.Member) {
		votes(m)
		has(m, plan.PodBlocked)
		m.Started, m.Start, m.InitialSize, m.PodReason = false, plan.StartNew, 3, v1beta2.ReasonPodUnschedulable
	}}
	neverStartedMissing = condition{"never started, missing", func(m *plan.Member) {
		votes(m)
		m.Started, m.Volume = false, plan.VolumePresent
	}}
	neverStartedLost = condition{"never started, lost", func(m *plan.Member) {
		votes(m)
		m.Started = false
	}}
	learner = condition{"learner", func(m *plan.Member) {
		votes(m)
		runs(m)
		m.Learner, m.Serving, m.PodReady, m.InService = true, false, false, false
	}}
	learnerAdded = condition{"learner, just added", func(m *plan.Member) {
		votes(m)
		m.Learner, m.Started = true, false
	}}
	learnerStarting = condition{"learner, starting", func(m *plan.Member) {
		votes(m)
		has(m, plan.PodBlocked)
		m.Learner, m.Started, m.Start, m.PodReason = true, false, plan.StartJoin, v1beta2.ReasonPodUnschedulable
	}}
	learnerLost = condition{"learner, lost", func(m *plan.Member) {
		votes(m)
		m.Learner = true
	}}
	losingReady = condition{"ready, volume being deleted", func(m *plan.Member) {
		votes(m)
		runs(m)
		m.Volume = plan.VolumeDeleting
	}}
	learnerLosing = condition{"learner, volume being deleted", func(m *plan.Member) {
		votes(m)
		runs(m)
		m.Volume = plan.VolumeDeleting
		m.Learner, m.Serving, m.PodReady, m.InService = true, false, false, false
	}}
	removed = condition{"removed", func(m *plan.Member) {
		has(m, plan.PodRunning)
	}}
	removedVolume = condition{"removed, volume left", func(m *plan.Member) {
		m.Volume = plan.VolumePresent
	}}
)

func votes(m *plan.Member) { m.InMembership, m.Started = true, true }

func has(m *plan.Member, pod plan.PodState) {
	m.Pod, m.Volume, m.PodImage, m.Start, m.InService = pod, plan.VolumePresent, image(version), plan.StartRejoin, true
}

func runs(m *plan.Member) {
	has(m, plan.PodRunning)
	m.Answers, m.Serving, m.PodReady, m.Version = true, true, true, version
}

func (c condition) learns() bool { return strings.HasPrefix(c.name, "learner") }

// formed returns the State of a cluster that has formed, with members in the given conditions.
func formed(size int, durable bool, conditions []condition) plan.State {
	const clusterID = etcd.ID(0xabc)
	s := plan.State{
		Namespace: "ns", Name: "example", UID: "uid-example",
		Spec:      v1beta2.EtcdClusterSpec{Size: size, Version: version},
		ClusterID: clusterID.String(), Incarnation: 1, KnownVersion: version,
		MembershipKnown: true,
	}
	if !durable {
		s.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	}
	s.Services = plan.Services{HeadlessCurrent: true, ClientExists: true, ClientCurrent: true, ClientIncarnation: 1, ClientClusterID: s.ClusterID}
	for i, name := range s.InitialNames(1, len(conditions)) {
		m := plan.Member{Name: name, Incarnation: 1}
		conditions[i].set(&m)
		if m.InMembership {
			m.ID = etcd.ID(i + 1)
			m.ClusterID = clusterID
			if !m.Learner {
				s.KnownVoters = append(s.KnownVoters, name)
			}
		}
		if !durable {
			m.Volume = plan.VolumeNone
		}
		s.Members = append(s.Members, m)
	}
	for i, m := range s.Members {
		if m.Start == plan.StartJoin {
			s.Members[i].Peers = strings.Join(s.JoinPeers(m.Name), ",")
		}
	}
	return s
}

// multisets calls each with every multiset of n conditions.
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
