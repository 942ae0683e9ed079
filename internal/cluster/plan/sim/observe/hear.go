package observe

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// hear is what the member says of itself.
func hear(w *world.World, p *world.Pod, m *state.Member) {
	if p.State != state.PodRunning {
		return
	}
	if refusesTLS(w, p, m) || refuses(w, p, m) {
		return
	}
	if p.Hung || p.Deaf {
		m.Unanswered = "deadline exceeded"
		return
	}
	d := w.Running(p)
	if d == nil {
		return
	}
	l := w.Life(d.Cluster)
	e := l.ByID(d.Member)
	if e == nil {
		return
	}
	led := l.Leader != 0 && raft.Up(w, l, e)
	if p.Mute && !led {
		m.RaftIndex, m.Unanswered = uint64(d.Index)+1, "deadline exceeded"
		return
	}
	p.Mute = false
	m.Answers = true
	m.ID, m.ClusterID, m.Learner = e.ID, l.ID, e.Learner
	m.Leader = l.Leader == e.ID
	m.Version = p.Version
	m.AppliedIndex = int64(d.Index) + 1
	if world.MinorOf(p.Version) >= world.Downgrades {
		m.StorageVersion = world.Storage(d.Storage)
		if l.Downgrade != 0 {
			m.Downgrade = world.Storage(l.Downgrade)
		}
	}
	m.Revision = l.FirstRevision + int64(d.Index)
	m.RaftIndex, m.RaftTerm = uint64(d.Index)+1, 1
	hearSpace(l, p, d, m)
	for _, id := range l.Fences {
		m.Alarms = append(m.Alarms, etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: id})
	}
	hearCorrupt(l, d, m)
	m.Serving = !e.Learner && led
	if !m.Serving {
		m.Unanswered = "no leader"
	}
	if !led && !e.Learner {
		m.Knows = l.AppliedBy(d)
	}
}

// hearSpace is what a member says of it.
func hearSpace(l *world.Life, p *world.Pod, d *world.Data, m *state.Member) {
	m.DBSize, m.DBSizeInUse = int64(d.File)*world.MiB, int64(d.Told)*world.MiB
	if world.MinorOf(p.Version) >= tellsQuota {
		m.DBQuota = int64(p.Quota) * world.MiB
	}
	if l.NoSpace != 0 {
		m.Revision = min(m.Revision, l.FirstRevision+int64(l.FullAt))
		m.Alarms = append(m.Alarms, etcd.Alarm{Kind: etcd.AlarmNoSpace, Member: l.NoSpace})
	}
}

// tellsQuota is the first minor version whose members report their quota.
const tellsQuota = 6

// hearCorrupt is what a member says of the alarm, and its hash while that is on.
func hearCorrupt(l *world.Life, d *world.Data, m *state.Member) {
	if l.Accused == 0 {
		return
	}
	alarm := etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: l.Accused}
	if l.Nobody {
		alarm.Member = 0
	}
	m.Alarms = append(m.Alarms, alarm)
	m.Hash = "right"
	if d.Tainted {
		m.Hash = "wrong on " + m.Name
	}
}

// refuses says what a member answers that the operator may not or cannot ask; false if it may.
func refuses(w *world.World, p *world.Pod, m *state.Member) bool {
	switch {
	case w.CutOff:
		m.Unanswered = "i/o timeout"
	case w.AuthOn:
		m.Refusal = etcd.RefusedUnknown
		d := w.Running(p)
		m.Guarded = !p.Hung && d != nil && w.Life(d.Cluster).Leader != 0 && w.Life(d.Cluster).ByID(d.Member) != nil
	default:
		return false
	}
	return true
}

// Asked is the life that a serving member of the current incarnation tells the membership of.
func Asked(w *world.World, s *state.State) *world.Life {
	incarnation := max(s.Incarnation, 1)
	for _, m := range s.Members {
		if m.Incarnation == incarnation && m.Serving {
			return w.Life(m.ClusterID)
		}
	}
	return nil
}

// Hidden reports whether a member serves, and the operator cannot see that.
func Hidden(w *world.World, e *world.Entry) bool {
	p := w.Pod(e.Name)
	return p != nil && (p.Deaf || p.CutOff || p.TLS != nil && (!raft.AcceptsOperator(w, p) || p.TLS.Slow == w.Now))
}

// Audible reports whether the operator can ask a member that has a leader.
func Audible(w *world.World, l *world.Life) bool {
	return !w.CutOff && (w.TLS == nil || !w.TLS.Slow) && slices.ContainsFunc(l.Entries, func(e world.Entry) bool {
		p := w.Pod(e.Name)
		return p != nil && p.State == state.PodRunning && !p.Deaf && !e.Learner && raft.Up(w, l, &e) && raft.AcceptsOperator(w, p)
	})
}

// Named returns the member of that name, and an empty one if there is none.
func Named(s state.State, name string) state.Member {
	i := slices.IndexFunc(s.Members, func(m state.Member) bool { return m.Name == name })
	if i < 0 {
		return state.Member{}
	}
	return s.Members[i]
}
