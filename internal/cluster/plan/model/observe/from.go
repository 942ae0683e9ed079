package observe

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/model/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/model/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
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

// putEntry makes the member known to the etcd of its incarnation, and the data that it has, if any.
func putEntry(w *world.World, s state.State, m *state.Member) *world.Data {
	l := w.LifeOf(m.Incarnation)
	if l == nil && (m.InMembership || m.Answers || m.Started || m.Incarnation < s.Incarnation) {
		w.Incarnations = append(w.Incarnations, world.Life{ID: idOf(s, m), Incarnation: m.Incarnation, Quorate: true})
		l = &w.Incarnations[len(w.Incarnations)-1]
	}
	if l == nil {
		return nil
	}
	w.NextID++
	e := world.Entry{ID: etcd.ID(w.NextID), Name: m.Name, Learner: m.Learner, Started: m.Started, Ran: m.Started, CaughtUp: m.Learner && m.Answers}
	if m.ID != 0 {
		e.ID = m.ID
	}
	if m.InMembership || m.Incarnation > s.Incarnation {
		l.Entries = append(l.Entries, e)
	}
	if m.InMembership && !m.Started {
		return nil
	}
	l.FirstRevision = max(l.FirstRevision, m.Revision)
	d := &world.Data{Cluster: l.ID, Member: e.ID, Corrupt: m.Corrupt}
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

// guessSpace of a member that was put there: half of what it uses is history.
func guessSpace(l *world.Life, d *world.Data, m *state.Member) {
	d.File, d.Used, d.Keys = int(m.DBSize/world.MiB), int(m.DBSizeInUse/world.MiB), int(m.DBSizeInUse/world.MiB/2)
	d.Told = d.Used
	for _, alarm := range m.Alarms {
		if alarm.Kind == etcd.AlarmNoSpace {
			l.NoSpace = alarm.Member
		}
		if alarm.IsFence() && !slices.Contains(l.Fences, alarm.Member) {
			l.Fences = append(l.Fences, alarm.Member)
		}
		if alarm.Kind == etcd.AlarmCorrupt && !alarm.IsFence() {
			l.Accused = alarm.Member
			d.Tainted = strings.HasPrefix(m.Hash, "wrong")
		}
	}
}

// guessVersions are those of a life whose members were put there: that of the lowest, with all that it ever wrote
// in every raft log.
func guessVersions(w *world.World, s state.State) {
	for i := range w.Incarnations {
		l, highest := &w.Incarnations[i], 0
		for _, m := range s.Members {
			if m.Incarnation != l.Incarnation {
				continue
			}
			ran := m.Version
			if ran == "" {
				ran = world.VersionOf(m.PodImage)
			}
			highest = max(highest, world.MinorOf(ran))
			if n := world.MinorOf(ran); n > 0 && (l.Version == 0 || n < l.Version) {
				l.Version = n
			}
			if m.Downgrade != "" {
				l.Downgrade = world.MinorOf(m.Downgrade)
			}
		}
		if l.Version == 0 {
			l.Version = world.MinorOf(s.KnownVersion)
		}
		if l.Version == 0 {
			l.Version = world.MinorOf(s.Spec.EtcdVersion())
		}
		if l.Downgrade != 0 {
			l.Version = l.Downgrade
		}
		if s.Formed() && l.Version < world.ReadsNoV2 && l.Incarnation == 1 {
			l.LastV2, l.Index = 1, max(l.Index, 1)
		}
		for j := range l.Entries {
			if d := w.DataOf(l.Entries[j].Name); d != nil {
				d.Storage, d.Index = l.Version, max(d.Index, l.Index)
				if highest >= world.ReadsNoV2 || (s.VersionChange != nil && s.VersionChange.Step != v1beta2.VersionChangePreparing) {
					d.Snapshot = 1
				}
			}
		}
	}
}
