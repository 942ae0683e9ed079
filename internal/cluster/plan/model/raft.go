package model

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// elect lets every life with a quorum have a leader, and lets none without one. It says whether that changed.
func (w *World) elect() (moved bool) {
	w.connect()
	for i := range w.incarnations {
		l := &w.incarnations[i]
		before := l.leader
		e := l.byID(l.leader)
		gone := e == nil || e.learner || !w.up(l, e)
		switch {
		case !w.voters(l).HasQuorum() || gone && w.Stepwise:
			l.leader = 0
		case gone:
			w.lead(l, 0)
		}
		moved = moved || l.leader != before
		l.logChange()
	}
	for i := range w.pods {
		w.readiness(&w.pods[i])
	}
	return moved
}

// lead makes one of the voters leader that know most; raft elects no other.
func (w *World) lead(l *life, which int) {
	best := -1
	var leaders []etcd.ID
	for i := range l.entries {
		e := &l.entries[i]
		if e.learner || !w.up(l, e) || !w.wins(l, e) {
			continue
		}
		d := w.dataOf(e.name)
		if d.index > best {
			best, leaders = d.index, nil
		}
		if d.index == best {
			leaders = append(leaders, e.id)
		}
	}
	if len(leaders) == 0 {
		return // voters that know more do not reach a quorum
	}
	if best < l.index {
		w.violate(AcknowledgedWritesSurvive, "acknowledged writes are lost: the best voter has %d of %d", best, l.index)
	}
	if l.leader == 0 {
		for i := range l.entries {
			w.expect(&l.entries[i])
		}
	}
	l.leader, l.quorate, l.index = leaders[min(which, len(leaders)-1)], true, max(l.index, best)
}

// expect records that a member can serve from now on.
func (w *World) expect(e *entry) {
	if p := w.pod(e.name); p != nil {
		p.expectedSince = w.now
	}
}

// failingSince is since when a member has failed although it could serve.
func (p *pod) failingSince() int { return max(p.unreadySince, p.expectedSince) }

func (w *World) readiness(p *pod) {
	ready := false
	if d := w.running(p); d != nil && p.state == state.PodRunning && !p.hung {
		l := w.life(d.cluster)
		e := l.byID(d.member)
		alarm := l.accused != 0 || len(l.fences) > 0
		ready = e != nil && !e.learner && l.leader != 0 && (!alarm || !p.probesAlarm)
		if w.TLS != nil && e != nil {
			led := l.leader != 0 && w.up(l, e)
			p.mute, ready = p.mute && !led, ready && led
		}
		ready = ready || w.PlainProbes && e != nil
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
	moved = w.advance(l)
	switch {
	case l.leader == 0:
	case len(l.fences) > 0:
		moved = w.replicate(l) || moved
	default:
		w.serveClients(l)
	}
	return moved
}

// serveClients acknowledges a write if the life has clients, and takes writes.
func (w *World) serveClients(l *life) {
	if l.leader != 0 && len(l.fences) == 0 && w.hasClients(l) {
		w.checkReplacedIsSilent(l)
		w.write(l)
	}
}

// advance publishes members, and lets learners catch up and the version change.
func (w *World) advance(l *life) (moved bool) {
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
	return w.tickVersion(l) || moved
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
