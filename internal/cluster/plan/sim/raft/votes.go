package raft

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/cas"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Begin records that an etcd process starts in a Pod, and reads what the Secrets hold now.
func Begin(w *world.World, p *world.Pod) {
	if w.TLS == nil || p.TLS == nil {
		return
	}
	w.TLS.Processes++
	n := w.TLS.Processes
	p.SetTLS(func(e *cas.Endpoint) { e.Has, e.Process, e.Since = w.TLS.Held, n, w.Now })
}

// processRuns reports whether the etcd process of a Pod exists.
func processRuns(w *world.World, p *world.Pod) bool {
	return (p.State == state.PodRunning || p.CutOff) && w.Running(p) != nil
}

// connect ends the connections of processes that ended, and makes those that both sides accept.
func connect(w *world.World) {
	t := w.TLS
	if t == nil {
		return
	}
	alive := make([]*world.Pod, 0, len(w.Pods))
	for i := range w.Pods {
		p := &w.Pods[i]
		switch {
		case p.TLS == nil:
		case !processRuns(w, p) && p.TLS.Process != 0:
			p.SetTLS(func(e *cas.Endpoint) { e.Process = 0 })
		case p.TLS.Process != 0 && !p.Hung:
			alive = append(alive, p)
		}
	}
	runs := func(process int) bool {
		return slices.ContainsFunc(alive, func(p *world.Pod) bool { return p.TLS.Process == process })
	}
	t.Links = slices.DeleteFunc(t.Links, func(l cas.Link) bool { return !runs(l[0]) || !runs(l[1]) })
	for i, a := range alive {
		for _, b := range alive[i+1:] {
			if a.Incarnation == b.Incarnation && !Linked(w, a, b) && t.Accept(a.TLS.Has.Peer, b.TLS.Has.Peer) {
				t.Links = append(t.Links, cas.LinkOf(a.TLS.Process, b.TLS.Process))
			}
		}
	}
}

// Linked reports whether the processes of two Pods are connected.
func Linked(w *world.World, a, b *world.Pod) bool {
	return a.TLS == nil || b.TLS == nil || a.Name == b.Name || slices.Contains(w.TLS.Links, cas.LinkOf(a.TLS.Process, b.TLS.Process))
}

// joined reports whether two members that run are connected. Foreign members are in reach of all.
func joined(w *world.World, a, b *world.Entry) bool {
	if a.Foreign || b.Foreign || a.ID == b.ID {
		return true
	}
	p, q := w.Pod(a.Name), w.Pod(b.Name)
	return p != nil && q != nil && Linked(w, p, q)
}

// AcceptsOperator reports whether the operator and the etcd of a Pod accept each other's certificates.
func AcceptsOperator(w *world.World, p *world.Pod) bool {
	return w.TLS == nil || p.TLS == nil || !w.TLS.Missing && w.TLS.Accept(w.TLS.Held.Client, p.TLS.Has.Client)
}

// voices are the voters that are connected to one of them, with itself.
func voices(w *world.World, l *world.Life, hub *world.Entry) (n int) {
	for i := range l.Entries {
		if e := &l.Entries[i]; !e.Learner && Runs(w, l, e) && joined(w, hub, e) {
			n++
		}
	}
	return n
}

// hubOf is the leader, or else the voter that most others are connected to; nil if none runs.
func hubOf(w *world.World, l *world.Life) *world.Entry {
	if e := l.ByID(l.Leader); e != nil && !e.Learner && Runs(w, l, e) {
		return e
	}
	var hub *world.Entry
	most, index := 0, 0
	for i := range l.Entries {
		e := &l.Entries[i]
		if e.Learner || !Runs(w, l, e) {
			continue
		}
		n, at := voices(w, l, e), 0
		if d := w.DataOf(e.Name); d != nil {
			at = d.Index
		}
		if n > most || n == most && at > index {
			hub, most, index = e, n, at
		}
	}
	return hub
}

// wins reports whether a quorum of the voters votes for one of them: those that are connected to it and know no more.
func wins(w *world.World, l *world.Life, candidate *world.Entry) bool {
	if w.TLS == nil {
		return true
	}
	d, votes, total := w.DataOf(candidate.Name), 0, 0
	for i := range l.Entries {
		e := &l.Entries[i]
		if e.Learner {
			continue
		}
		total++
		if o := w.DataOf(e.Name); Runs(w, l, e) && joined(w, candidate, e) && o != nil && d != nil && o.Index <= d.Index {
			votes++
		}
	}
	return votes >= etcd.Quorum(total)
}

// Up says whether a member's process runs on its data, and reaches the leader. Without a leader, it must reach the voter that most others reach.
func Up(w *world.World, l *world.Life, e *world.Entry) bool {
	if w.TLS == nil || !Runs(w, l, e) {
		return Runs(w, l, e)
	}
	hub := hubOf(w, l)
	return hub != nil && joined(w, hub, e)
}

// Runs says whether a member's process runs on its data.
func Runs(w *world.World, l *world.Life, e *world.Entry) bool {
	if e.Foreign {
		return !e.Down && e.Ran
	}
	p := w.Pod(e.Name)
	if p == nil || p.State != state.PodRunning && !p.CutOff || p.Hung {
		return false
	}
	d := w.Running(p)
	return d != nil && d.Cluster == l.ID && d.Member == e.ID
}

// Voters of a life, and how many of them are up.
func Voters(w *world.World, l *world.Life) etcd.Voters {
	var v etcd.Voters
	for i := range l.Entries {
		if l.Entries[i].Learner {
			continue
		}
		v.Total++
		if Up(w, l, &l.Entries[i]) {
			v.Healthy++
		}
	}
	return v
}

// OwnVoters are the voters that the operator added.
func OwnVoters(w *world.World, l *world.Life) etcd.Voters {
	var v etcd.Voters
	for i := range l.Entries {
		if e := &l.Entries[i]; !e.Learner && !e.Foreign {
			v.Total++
			if Up(w, l, e) {
				v.Healthy++
			}
		}
	}
	return v
}

// Admits reports whether a member that runs lets a new process ask it for the membership.
func Admits(w *world.World, l *world.Life, e *world.Entry, p *world.Pod) bool {
	if w.TLS == nil || p.TLS == nil || e.Foreign {
		return Up(w, l, e)
	}
	q := w.Pod(e.Name)
	return Runs(w, l, e) && q.TLS != nil && w.TLS.Accept(p.TLS.Has.Peer, q.TLS.Has.Peer)
}

// Foreigners counts the foreign members.
func Foreigners(l *world.Life) (n int) {
	for _, e := range l.Entries {
		if e.Foreign {
			n++
		}
	}
	return n
}

// DownForeign counts the foreign voters that do not run.
func DownForeign(w *world.World, l *world.Life) (n int) {
	for i := range l.Entries {
		if e := &l.Entries[i]; e.Foreign && !e.Learner && !Up(w, l, e) {
			n++
		}
	}
	return n
}
