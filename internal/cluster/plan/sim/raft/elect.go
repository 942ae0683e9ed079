// Package raft is what the members of a simulated etcd cluster do together: connect, elect a leader, take writes, change the membership and
// the version.
package raft

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Elect lets every life with a quorum have a leader, and lets none without one. It says whether that changed.
func Elect(w *world.World) (moved bool) {
	connect(w)
	for i := range w.Incarnations {
		l := &w.Incarnations[i]
		before := l.Leader
		e := l.ByID(l.Leader)
		gone := e == nil || e.Learner || !Up(w, l, e)
		switch {
		case !Voters(w, l).HasQuorum() || gone && w.Stepwise:
			l.Leader = 0
		case gone:
			Lead(w, l, 0)
		}
		moved = moved || l.Leader != before
		l.LogChange()
	}
	for i := range w.Pods {
		readiness(w, &w.Pods[i])
	}
	return moved
}

// Lead makes one of the voters leader that know most; raft elects no other.
func Lead(w *world.World, l *world.Life, which int) {
	best := -1
	var leaders []etcd.ID
	for i := range l.Entries {
		e := &l.Entries[i]
		if e.Learner || !Up(w, l, e) || !wins(w, l, e) {
			continue
		}
		d := w.DataOf(e.Name)
		if d.Index > best {
			best, leaders = d.Index, nil
		}
		if d.Index == best {
			leaders = append(leaders, e.ID)
		}
	}
	if len(leaders) == 0 {
		return // voters that know more do not reach a quorum
	}
	if best < l.Index {
		w.Violate(world.AcknowledgedWritesSurvive, "acknowledged writes are lost: the best voter has %d of %d", best, l.Index)
	}
	if l.Leader == 0 {
		for i := range l.Entries {
			expect(w, &l.Entries[i])
		}
	}
	l.Leader, l.Quorate, l.Index = leaders[min(which, len(leaders)-1)], true, max(l.Index, best)
}

// expect records that a member can serve from now on.
func expect(w *world.World, e *world.Entry) {
	if p := w.Pod(e.Name); p != nil {
		p.ExpectedSince = w.Now
	}
}

func readiness(w *world.World, p *world.Pod) {
	ready := false
	if d := w.Running(p); d != nil && p.State == state.PodRunning && !p.Hung {
		l := w.Life(d.Cluster)
		e := l.ByID(d.Member)
		alarm := l.Accused != 0 || len(l.Fences) > 0
		ready = e != nil && !e.Learner && l.Leader != 0 && (!alarm || !p.ProbesAlarm)
		if w.TLS != nil && e != nil {
			led := l.Leader != 0 && Up(w, l, e)
			p.Mute, ready = p.Mute && !led, ready && led
		}
		ready = ready || w.PlainProbes && e != nil
	}
	if ready {
		p.Ready = true
	} else {
		Unready(w, p)
	}
}

// Unready records that a Pod is not ready, and since when.
func Unready(w *world.World, p *world.Pod) {
	if p.Ready {
		p.Ready, p.UnreadySince = false, w.Now
	}
}
