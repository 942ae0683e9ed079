package plan_test

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
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
	set  func(*state.Member)
}

var (
	ready = condition{"ready", func(m *state.Member) {
		votes(m)
		runs(m)
	}}
	outdatedReady = condition{"outdated", func(m *state.Member) {
		votes(m)
		runs(m)
		m.PodImage = image(outdated)
	}}
	starting = condition{"starting", func(m *state.Member) {
		votes(m)
		has(m, state.PodStarting)
	}}
	missing = condition{"missing", func(m *state.Member) {
		votes(m)
		m.Volume = state.VolumePresent
	}}
	ended = condition{"ended", func(m *state.Member) {
		votes(m)
		has(m, state.PodEnded)
	}}
	deleting = condition{"deleting", func(m *state.Member) {
		votes(m)
		has(m, state.PodDeleting)
	}}
	unschedulable = condition{"unschedulable", func(m *state.Member) {
		votes(m)
		has(m, state.PodBlocked)
		m.PodReason = v1beta2.ReasonPodUnschedulable
	}}
	crashing = condition{"crashing", func(m *state.Member) {
		votes(m)
		has(m, state.PodBlocked)
		m.PodReason = v1beta2.ReasonPodFailing
	}}
	hung = condition{"hung", func(m *state.Member) {
		votes(m)
		has(m, state.PodRunning)
	}}
	lost        = condition{"lost", votes}
	lostWithPod = condition{"lost, Pod waits", func(m *state.Member) {
		votes(m)
		has(m, state.PodBlocked)
		m.Volume, m.PodReason = state.VolumeNone, v1beta2.ReasonPodUnschedulable
	}}
	losing = condition{"volume being deleted", func(m *state.Member) {
		votes(m)
		m.Volume = state.VolumeDeleting
	}}
	neverStarted = condition{"never started", func(m *state.Member) {
		votes(m)
		has(m, state.PodBlocked)
		m.Started, m.Start, m.InitialSize, m.PodReason = false, state.StartNew, 3, v1beta2.ReasonPodUnschedulable
	}}
	neverStartedMissing = condition{"never started, missing", func(m *state.Member) {
		votes(m)
		m.Started, m.Volume = false, state.VolumePresent
	}}
	neverStartedLost = condition{"never started, lost", func(m *state.Member) {
		votes(m)
		m.Started = false
	}}
	learner = condition{"learner", func(m *state.Member) {
		votes(m)
		runs(m)
		m.Learner, m.Serving, m.PodReady, m.InService = true, false, false, false
	}}
	learnerAdded = condition{"learner, just added", func(m *state.Member) {
		votes(m)
		m.Learner, m.Started = true, false
	}}
	learnerStarting = condition{"learner, starting", func(m *state.Member) {
		votes(m)
		has(m, state.PodBlocked)
		m.Learner, m.Started, m.Start, m.PodReason = true, false, state.StartJoin, v1beta2.ReasonPodUnschedulable
	}}
	learnerLost = condition{"learner, lost", func(m *state.Member) {
		votes(m)
		m.Learner = true
	}}
	losingReady = condition{"ready, volume being deleted", func(m *state.Member) {
		votes(m)
		runs(m)
		m.Volume = state.VolumeDeleting
	}}
	learnerLosing = condition{"learner, volume being deleted", func(m *state.Member) {
		votes(m)
		runs(m)
		m.Volume = state.VolumeDeleting
		m.Learner, m.Serving, m.PodReady, m.InService = true, false, false, false
	}}
	removed = condition{"removed", func(m *state.Member) {
		has(m, state.PodRunning)
	}}
	removedVolume = condition{"removed, volume left", func(m *state.Member) {
		m.Volume = state.VolumePresent
	}}
)

func votes(m *state.Member) { m.InMembership, m.Started = true, true }

func has(m *state.Member, pod state.PodState) {
	m.Pod, m.Volume, m.PodImage, m.Start, m.InService = pod, state.VolumePresent, image(version), state.StartRejoin, true
}

func runs(m *state.Member) {
	has(m, state.PodRunning)
	m.Answers, m.Serving, m.PodReady, m.Version = true, true, true, version
}

func (c condition) learns() bool { return strings.HasPrefix(c.name, "learner") }

// formed returns the State of a cluster that has formed, with members in the given conditions.
func formed(size int, durable bool, conditions []condition) state.State {
	const clusterID = etcd.ID(0xabc)
	s := state.State{
		Namespace: "ns", Name: "example", UID: "uid-example",
		Spec:      v1beta2.EtcdClusterSpec{Size: size, Version: version},
		ClusterID: clusterID.String(), Incarnation: 1, KnownVersion: version,
		MembershipKnown: true,
	}
	if !durable {
		s.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	}
	s.Services = state.Services{HeadlessCurrent: true, ClientExists: true, ClientCurrent: true, ClientIncarnation: 1, ClientClusterID: s.ClusterID}
	for i, name := range state.InitialNames(s, 1, len(conditions)) {
		m := state.Member{Name: name, Incarnation: 1}
		conditions[i].set(&m)
		if m.InMembership {
			m.ID = etcd.ID(i + 1)
			m.ClusterID = clusterID
			if !m.Learner {
				s.KnownVoters = append(s.KnownVoters, name)
			}
		}
		if !durable {
			m.Volume = state.VolumeNone
		}
		s.Members = append(s.Members, m)
	}
	for i, m := range s.Members {
		if m.Start == state.StartJoin {
			s.Members[i].Peers = strings.Join(state.JoinPeers(s, m.Name), ",")
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
