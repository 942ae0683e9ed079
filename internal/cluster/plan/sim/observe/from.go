package observe

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// From is a world that looks like s. What a State does not tell is taken to be the better: a member that is in
// the membership and has a volume has its data on it, and a Pod that is starting will come up.
func From(s state.State) *world.World {
	w := &world.World{
		NextID:         uint64(len(s.Members)) + 100,
		Services:       s.Services,
		Budget:         s.Budget,
		NetworkPolicy:  s.NetworkPolicy,
		BudgetSize:     s.Spec.Size,
		BudgetKeeps:    modes.KeepsUnready(s),
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
		w.Restores = append(w.Restores, world.Restore{UID: s.Request.UID, Verified: true, Revision: s.Request.Revision})
	}
	if s.Request == nil && s.RestorePending != "" {
		w.Restores = append(w.Restores, world.Restore{UID: types.UID(s.RestorePending)})
	}
	for _, m := range guessed(s) {
		putMember(w, s, &m)
	}
	guessVersions(w, s)
	raft.Elect(w)
	for i := range w.Incarnations {
		for _, m := range s.Members {
			if e := w.Incarnations[i].Entry(m.Name); e != nil && m.Leader && raft.Up(w, &w.Incarnations[i], e) {
				w.Incarnations[i].Leader = e.ID
			}
		}
		w.Incarnations[i].Adopted = w.Incarnations[i].Incarnation <= s.Incarnation
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

func putMember(w *world.World, s state.State, m *state.Member) {
	d := putEntry(w, s, m)
	if m.Volume != state.VolumeNone {
		w.UIDs++
		w.Volumes = append(w.Volumes, world.Volume{
			Name: m.Name, UID: w.UIDs, Incarnation: m.Incarnation, InitialSize: m.InitialSize, Deleting: m.Volume == state.VolumeDeleting, Data: d,
			Kept: m.VolumeKept, Size: m.VolumeSize,
		})
	}
	if m.Pod == state.PodNone {
		return
	}
	p := world.Pod{
		Name: m.Name, Incarnation: m.Incarnation, InitialSize: m.InitialSize, Start: m.Start, Version: world.VersionOf(m.PodImage),
		State: m.Pod, Reason: m.PodReason, Wrong: m.PodMessage, Exposed: m.InService, Ready: m.PodReady, GoneBy: 30,
		Ended: m.Stopped, Stuck: !m.GoneBy.IsZero() && s.Now.Sub(m.GoneBy) > time.Minute,
		Quota: int(ptr.Deref(m.PodQuota, world.Quota*world.MiB) / world.MiB),
	}
	if p.InPod = m.DataInPod || !s.Durable(); !p.InPod {
		p.Hung = m.Pod == state.PodRunning && !m.Answers
	} else {
		p.Scratch = d
	}
	switch {
	case m.Resize != state.ResizeNone:
		p.Resources--
	case m.Outdated:
		p.Template--
	}
	if m.Relabel {
		p.Labels--
	}
	if m.Peers != "" {
		p.Peers = strings.Split(m.Peers, ",")
	}
	if m.InitialSize > 0 {
		p.Peers = state.InitialNames(s, m.Incarnation, m.InitialSize)
	}
	if s.Request != nil {
		p.Restore = s.Request.UID
	}
	if m.Seed != nil {
		p.Failures, p.Hopeless = m.Seed.Failures, m.Seed.Hopeless
	}
	p.Placed = m.Pod != state.PodBlocked || m.PodReason != v1beta2.ReasonPodUnschedulable
	if m.Pod == state.PodBlocked {
		block(w, &p, m)
	}
	w.Pods = append(w.Pods, p)
}

// block makes a Pod stay as blocked as it is.
func block(w *world.World, p *world.Pod, m *state.Member) {
	switch m.PodReason {
	case v1beta2.ReasonPodUnschedulable:
		p.Unschedulable = true
	case v1beta2.ReasonImageUnavailable:
		w.BadImage = p.Version
	default:
		p.Broken = true
	}
}
