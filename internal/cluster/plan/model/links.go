package model

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// link is a connection between two etcd processes, the lower number first. It lasts until one of them ends, whatever happens to their certificates.
type link [2]int

func linkOf(a, b int) link { return link{min(a, b), max(a, b)} }

// begin records that an etcd process starts in a Pod, and reads what the Secrets hold now.
func (w *World) begin(p *pod) {
	if w.TLS == nil || p.tls == nil {
		return
	}
	w.TLS.processes++
	n := w.TLS.processes
	p.setTLS(func(e *endpoint) { e.has, e.process, e.since = w.TLS.held, n, w.now })
}

// processRuns reports whether the etcd process of a Pod exists.
func (w *World) processRuns(p *pod) bool {
	return (p.state == state.PodRunning || p.cutOff) && w.running(p) != nil
}

// connect ends the connections of processes that ended, and makes those that both sides accept.
func (w *World) connect() {
	t := w.TLS
	if t == nil {
		return
	}
	alive := make([]*pod, 0, len(w.pods))
	for i := range w.pods {
		p := &w.pods[i]
		switch {
		case p.tls == nil:
		case !w.processRuns(p) && p.tls.process != 0:
			p.setTLS(func(e *endpoint) { e.process = 0 })
		case p.tls.process != 0 && !p.hung:
			alive = append(alive, p)
		}
	}
	runs := func(process int) bool {
		return slices.ContainsFunc(alive, func(p *pod) bool { return p.tls.process == process })
	}
	t.links = slices.DeleteFunc(t.links, func(l link) bool { return !runs(l[0]) || !runs(l[1]) })
	for i, a := range alive {
		for _, b := range alive[i+1:] {
			if a.incarnation == b.incarnation && !w.linked(a, b) && t.accept(a.tls.has.peer, b.tls.has.peer) {
				t.links = append(t.links, linkOf(a.tls.process, b.tls.process))
			}
		}
	}
}

// accept reports whether two parties accept each other's certificates.
func (t *authorities) accept(a, b keys) bool {
	return a.trusted.has(b.signer) && b.trusted.has(a.signer) && !t.expired.has(a.signer) && !t.expired.has(b.signer)
}

func (w *World) linked(a, b *pod) bool {
	return a.tls == nil || b.tls == nil || a.name == b.name || slices.Contains(w.TLS.links, linkOf(a.tls.process, b.tls.process))
}

// joined reports whether two members that run are connected. Foreign members are in reach of all.
func (w *World) joined(a, b *entry) bool {
	if a.foreign || b.foreign || a.id == b.id {
		return true
	}
	p, q := w.pod(a.name), w.pod(b.name)
	return p != nil && q != nil && w.linked(p, q)
}

// voices are the voters that are connected to one of them, with itself.
func (w *World) voices(l *life, hub *entry) (n int) {
	for i := range l.entries {
		if e := &l.entries[i]; !e.learner && w.runs(l, e) && w.joined(hub, e) {
			n++
		}
	}
	return n
}

// hub is the leader, or else the voter that most others are connected to; nil if none runs.
func (w *World) hub(l *life) *entry {
	if e := l.byID(l.leader); e != nil && !e.learner && w.runs(l, e) {
		return e
	}
	var hub *entry
	most, index := 0, 0
	for i := range l.entries {
		e := &l.entries[i]
		if e.learner || !w.runs(l, e) {
			continue
		}
		n, at := w.voices(l, e), 0
		if d := w.dataOf(e.name); d != nil {
			at = d.index
		}
		if n > most || n == most && at > index {
			hub, most, index = e, n, at
		}
	}
	return hub
}

// wins reports whether a quorum of the voters votes for one of them: those that are connected to it and know no more.
func (w *World) wins(l *life, candidate *entry) bool {
	if w.TLS == nil {
		return true
	}
	d, votes, total := w.dataOf(candidate.name), 0, 0
	for i := range l.entries {
		e := &l.entries[i]
		if e.learner {
			continue
		}
		total++
		if o := w.dataOf(e.name); w.runs(l, e) && w.joined(candidate, e) && o != nil && d != nil && o.index <= d.index {
			votes++
		}
	}
	return votes >= etcd.Quorum(total)
}

// admits reports whether a member that runs lets a new process ask it for the membership.
func (w *World) admits(l *life, e *entry, p *pod) bool {
	if w.TLS == nil || p.tls == nil || e.foreign {
		return w.up(l, e)
	}
	q := w.pod(e.name)
	return w.runs(l, e) && q.tls != nil && w.TLS.accept(p.tls.has.peer, q.tls.has.peer)
}

// acceptsOperator reports whether the operator and the etcd of a Pod accept each other's certificates.
func (w *World) acceptsOperator(p *pod) bool {
	return w.TLS == nil || p.tls == nil || !w.TLS.missing && w.TLS.accept(w.TLS.held.client, p.tls.has.client)
}
