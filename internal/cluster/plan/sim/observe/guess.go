package observe

import (
	"slices"
	"strconv"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

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
