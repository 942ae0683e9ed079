package model

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// elect lets every life with a quorum have a leader, and lets none without one. It says whether that changed.
func (w *World) elect() (moved bool) {
	for i := range w.incarnations {
		l := &w.incarnations[i]
		before := l.leader
		if !w.voters(l).HasQuorum() {
			l.leader = 0
		} else if e := l.byID(l.leader); e == nil || e.learner || !w.up(l, e) {
			w.lead(l)
		}
		moved = moved || l.leader != before
		l.logChange()
	}
	for i := range w.pods {
		w.readiness(&w.pods[i])
	}
	return moved
}

// lead makes the voter leader that knows most; raft elects no other.
func (w *World) lead(l *life) {
	best := -1
	var leader etcd.ID
	for i := range l.entries {
		e := &l.entries[i]
		if e.learner || !w.up(l, e) {
			continue
		}
		if d := w.dataOf(e.name); d.index > best {
			best, leader = d.index, e.id
		}
	}
	if best < l.index {
		w.violate(AcknowledgedWritesSurvive, "acknowledged writes are lost: the best voter has %d of %d", best, l.index)
	}
	l.leader, l.quorate, l.index = leader, true, max(l.index, best)
}

func (w *World) readiness(p *pod) {
	ready := false
	if d := w.running(p); d != nil && p.state == plan.PodRunning && !p.hung {
		l := w.life(d.cluster)
		e := l.byID(d.member)
		alarm := l.accused != 0 || len(l.fences) > 0
		ready = e != nil && !e.learner && l.leader != 0 && (!alarm || !p.probesAlarm)
	}
	if ready {
		p.ready = true
	} else {
		w.unready(p)
	}
}

// tickLife publishes members, lets learners catch up and clients write. It says whether anything but the writes
// moved.
func (w *World) tickLife(l *life) (moved bool) {
	if l.cooling > 0 {
		l.cooling--
		moved = true
	}
	if l.leader == 0 {
		return moved
	}
	for i := range l.entries {
		e := &l.entries[i]
		if !w.up(l, e) {
			continue
		}
		switch {
		case !e.started:
			e.started, moved = true, true
		case e.learner && !e.caughtUp && w.pick(2) == 0:
			e.caughtUp, moved = true, true
		}
	}
	moved = w.tickVersion(l) || moved
	switch {
	case len(l.fences) > 0:
		moved = w.replicate(l) || moved
	case w.hasClients(l):
		w.write(l)
	}
	return moved
}

// replicate brings all that was acknowledged to the members that are up, while no client writes.
func (w *World) replicate(l *life) (moved bool) {
	for i := range l.entries {
		e := &l.entries[i]
		if !w.up(l, e) || e.learner && !e.caughtUp {
			continue
		}
		if d := w.dataOf(e.name); d != nil && d.index < l.index {
			d.index, moved = l.index, true
		}
	}
	return moved
}

// hasClients says whether clients write to a life: none is led to the seed of a restore before it becomes the cluster.
func (w *World) hasClients(l *life) bool { return l.restore == "" || l.adopted }

// write acknowledges one write of a client: the leader and enough others have it, and the rest may lag.
func (w *World) write(l *life) {
	l.index++
	needed := etcd.Quorum(w.voters(l).Total)
	if d := w.dataOf(l.byID(l.leader).name); d != nil {
		d.index = l.index
		needed--
	}
	first := w.pick(len(l.entries))
	for i := range l.entries {
		e := &l.entries[(first+i)%len(l.entries)]
		if e.id == l.leader || !w.up(l, e) {
			continue
		}
		if e.learner {
			if e.caughtUp {
				w.dataOf(e.name).index = l.index
			}
			continue
		}
		if needed > 0 || w.pick(2) == 0 {
			w.dataOf(e.name).index = l.index
			needed--
		}
	}
}
