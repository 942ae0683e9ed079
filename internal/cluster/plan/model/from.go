package model

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// From is a world that looks like s. What a State does not tell is taken to be the better: a member that is in
// the membership and has a volume has its data on it, and a Pod that is starting will come up.
func From(s state.State) *World {
	w := &World{
		nextID:         uint64(len(s.Members)) + 100,
		Services:       s.Services,
		Budget:         s.Budget,
		NetworkPolicy:  s.NetworkPolicy,
		budgetSize:     s.Spec.Size,
		budgetKeeps:    modes.KeepsUnready(s),
		NoStorageClass: s.NoStorageClass,
		SecretProblem:  s.SecretProblem,
		Cluster: v1beta2.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID, Generation: 1},
			Spec:       s.Spec,
			Status: v1beta2.EtcdClusterStatus{
				ClusterID: s.ClusterID, Incarnation: s.Incarnation, Restore: s.Restore.DeepCopy(), Recovery: s.Recovery.DeepCopy(), CurrentVersion: s.KnownVersion,
				VersionChange: s.VersionChange.DeepCopy(),
			},
		},
	}
	for _, voter := range s.KnownVoters {
		w.Cluster.Status.MemberStatuses = append(w.Cluster.Status.MemberStatuses, v1beta2.MemberStatus{Name: voter, Role: v1beta2.MemberVoter})
	}
	if s.Request != nil {
		w.Restores = append(w.Restores, Restore{UID: s.Request.UID, Verified: true, Revision: s.Request.Revision})
	}
	if s.Request == nil && s.RestorePending != "" {
		w.Restores = append(w.Restores, Restore{UID: types.UID(s.RestorePending)})
	}
	for _, m := range guessed(s) {
		w.putMember(s, &m)
	}
	w.guessVersions(s)
	w.elect()
	for i := range w.incarnations {
		for _, m := range s.Members {
			if e := w.incarnations[i].entry(m.Name); e != nil && m.Leader && w.up(&w.incarnations[i], e) {
				w.incarnations[i].leader = e.id
			}
		}
		w.incarnations[i].adopted = w.incarnations[i].incarnation <= s.Incarnation
	}
	return w
}

// guessed are the members, with the membership put in where no quorum told it: the voters that were known, or
// else all that have data.
func guessed(s state.State) []state.Member {
	members := slices.Clone(s.Members)
	if s.MembershipKnown || !s.Formed() {
		return members
	}
	for i, m := range members {
		if m.Incarnation == s.Incarnation {
			in := slices.Contains(s.KnownVoters, m.Name) || (len(s.KnownVoters) == 0 && s.HoldsData(m))
			members[i].InMembership, members[i].Started = in, in
		}
	}
	for _, voter := range s.KnownVoters {
		if !slices.ContainsFunc(members, func(m state.Member) bool { return m.Name == voter }) {
			members = append(members, state.Member{Name: voter, Incarnation: s.Incarnation, InMembership: true, Started: true})
		}
	}
	return members
}

func (w *World) putMember(s state.State, m *state.Member) {
	d := w.putEntry(s, m)
	if m.Volume != state.VolumeNone {
		w.uids++
		w.volumes = append(w.volumes, volume{
			name: m.Name, uid: w.uids, incarnation: m.Incarnation, initialSize: m.InitialSize, deleting: m.Volume == state.VolumeDeleting, data: d,
			kept: m.VolumeKept, size: m.VolumeSize,
		})
	}
	if m.Pod == state.PodNone {
		return
	}
	p := pod{
		name: m.Name, incarnation: m.Incarnation, initialSize: m.InitialSize, start: m.Start, version: versionOf(m.PodImage),
		state: m.Pod, reason: m.PodReason, wrong: m.PodMessage, exposed: m.InService, ready: m.PodReady, goneBy: 30,
		ended: m.Stopped, stuck: !m.GoneBy.IsZero() && s.Now.Sub(m.GoneBy) > time.Minute,
		quota: int(ptr.Deref(m.PodQuota, quota*mib) / mib),
	}
	if p.inPod = m.DataInPod || !s.Durable(); !p.inPod {
		p.hung = m.Pod == state.PodRunning && !m.Answers
	} else {
		p.scratch = d
	}
	switch {
	case m.Resize != state.ResizeNone:
		p.resources--
	case m.Outdated:
		p.template--
	}
	if m.Relabel {
		p.labels--
	}
	if m.Peers != "" {
		p.peers = strings.Split(m.Peers, ",")
	}
	if m.InitialSize > 0 {
		p.peers = state.InitialNames(s, m.Incarnation, m.InitialSize)
	}
	if s.Request != nil {
		p.restore = s.Request.UID
	}
	if m.Seed != nil {
		p.failures, p.hopeless = m.Seed.Failures, m.Seed.Hopeless
	}
	p.placed = m.Pod != state.PodBlocked || m.PodReason != v1beta2.ReasonPodUnschedulable
	if m.Pod == state.PodBlocked {
		w.block(&p, m)
	}
	w.pods = append(w.pods, p)
}

// block makes a Pod stay as blocked as it is.
func (w *World) block(p *pod, m *state.Member) {
	switch m.PodReason {
	case v1beta2.ReasonPodUnschedulable:
		p.unschedulable = true
	case v1beta2.ReasonImageUnavailable:
		w.BadImage = p.version
	default:
		p.broken = true
	}
}

// putEntry makes the member known to the etcd of its incarnation, and the data that it has, if any.
func (w *World) putEntry(s state.State, m *state.Member) *data {
	l := w.lifeOf(m.Incarnation)
	if l == nil && (m.InMembership || m.Answers || m.Started || m.Incarnation < s.Incarnation) {
		w.incarnations = append(w.incarnations, life{id: idOf(s, m), incarnation: m.Incarnation, quorate: true})
		l = &w.incarnations[len(w.incarnations)-1]
	}
	if l == nil {
		return nil
	}
	w.nextID++
	e := entry{id: etcd.ID(w.nextID), name: m.Name, learner: m.Learner, started: m.Started, ran: m.Started, caughtUp: m.Learner && m.Answers}
	if m.ID != 0 {
		e.id = m.ID
	}
	if m.InMembership || m.Incarnation > s.Incarnation {
		l.entries = append(l.entries, e)
	}
	if m.InMembership && !m.Started {
		return nil
	}
	l.revision = max(l.revision, m.Revision)
	d := &data{cluster: l.id, member: e.id, corrupt: m.Corrupt}
	guessSpace(l, d, m)
	return d
}

func idOf(s state.State, m *state.Member) etcd.ID {
	if m.ClusterID != 0 {
		return m.ClusterID
	}
	recorded := ""
	switch {
	case m.Incarnation == s.Incarnation:
		recorded = s.ClusterID
	case s.Restore != nil && s.Restore.Incarnation == m.Incarnation:
		recorded = s.Restore.ClusterID
	}
	if id, err := strconv.ParseUint(recorded, 16, 64); err == nil {
		return etcd.ID(id)
	}
	return etcd.ID(0xc0de0000 + int(m.Incarnation))
}
