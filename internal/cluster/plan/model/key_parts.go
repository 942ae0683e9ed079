package model

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// ranks returns the indexes that mean something in each life, in ascending order.
func (w *World) ranks() map[etcd.ID][]int {
	ranks := map[etcd.ID][]int{}
	for i := range w.incarnations {
		l := &w.incarnations[i]
		ranks[l.id] = append(ranks[l.id], 0, l.index)
		for _, change := range w.pending(l) {
			ranks[l.id] = append(ranks[l.id], change.index)
		}
	}
	for i := range w.volumes {
		if d := w.volumes[i].data; d != nil {
			ranks[d.cluster] = append(ranks[d.cluster], d.index)
		}
	}
	for i := range w.pods {
		if d := w.pods[i].scratch; d != nil {
			ranks[d.cluster] = append(ranks[d.cluster], d.index)
		}
	}
	for id := range ranks {
		slices.Sort(ranks[id])
		ranks[id] = slices.Compact(ranks[id])
	}
	return ranks
}

// pending are the changes of a membership that a member with data has not applied.
func (w *World) pending(l *life) []membershipChange {
	lowest := l.index
	for i := range l.entries {
		if d := w.dataOf(l.entries[i].name); d != nil && d.cluster == l.id {
			lowest = min(lowest, d.index)
		}
	}
	first := 0
	for i, change := range l.changes {
		if change.index <= lowest {
			first = i + 1
		}
	}
	return l.changes[first:]
}

// rank of an index. An index between two others has the rank of the lower one.
func (e *encoder) rank(id etcd.ID, index int) {
	at, found := slices.BinarySearch(e.ranks[id], index)
	if !found {
		at--
	}
	e.number(at)
}

func (e *encoder) life(w *World, l *life) {
	c := *l
	e.rank(l.id, c.index)
	pending := w.pending(l)
	e.number(len(pending))
	for _, change := range pending {
		e.rank(l.id, change.index)
		for _, m := range change.members {
			e.identity(m.ID.String())
			e.truth(m.Learner)
		}
	}
	c.index, c.fullAt, c.changedAt, c.loweredAt, c.lastV2, c.changes = 0, 0, 0, 0, 0, nil
	e.value(reflect.ValueOf(c))
}

func (e *encoder) data(d *data) {
	e.truth(d == nil)
	if d == nil {
		return
	}
	c := *d
	e.rank(d.cluster, d.index)
	c.index, c.snapshot = 0, 0
	e.value(reflect.ValueOf(c))
}

func (e *encoder) pods(w *World, pods []pod) {
	e.number(len(pods))
	for _, p := range byName(pods, func(p pod) string { return p.name }) {
		e.identity(fmt.Sprintf("pod-%d", p.uid))
		e.data(p.scratch)
		v := w.volume(p.name)
		e.truth(v != nil && v.created > p.created)
		e.truth(p.addressSince > 0)
		if p.waits && p.addressSince > 0 {
			e.age(p.addressSince)
		}
		if !p.ready {
			e.age(p.unreadySince)
			e.age(p.failingSince())
		}
		if p.state == state.PodDeleting {
			e.age(p.goneBy)
		}
		p.uid, p.created, p.addressSince, p.unreadySince, p.expectedSince, p.goneBy, p.resize.at, p.scratch = 0, 0, 0, 0, 0, 0, 0, nil
		p.failures = min(p.failures, 3) // more make no difference
		p.bump = 0
		e.text(strings.Join(p.peers, ","))
		e.endpoint(w, &p)
		p.peers, p.tls = nil, nil
		e.value(reflect.ValueOf(p))
	}
}

func (e *encoder) volumes(w *World, volumes []volume) {
	e.number(len(volumes))
	for _, v := range byName(volumes, func(v volume) string { return v.name }) {
		e.identity(fmt.Sprintf("claim-%d", v.uid))
		e.data(v.data)
		e.data(v.away)
		if v.aside {
			e.age(v.since)
		}
		r, last := w.Cluster.Status.Recovery, w.Cluster.Status.LastRecovery
		e.truth(r != nil && r.StartedAt != nil && w.at(v.created).After(r.StartedAt.Time))
		e.truth(r != nil && r.StartedAt != nil && v.recoveredAt.Equal(r.StartedAt.Time))
		e.truth(last != nil && v.recoveredAt.Equal(last.StartedAt.Time))
		e.time(v.recoveredAt)
		v.uid, v.created, v.since, v.data, v.away, v.recoveredAt = 0, 0, 0, nil, nil, time.Time{}
		e.value(reflect.ValueOf(v))
	}
}
