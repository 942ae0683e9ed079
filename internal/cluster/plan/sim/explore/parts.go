package explore

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// ranks returns the indexes that mean something in each life, in ascending order.
func ranks(w *world.World) map[etcd.ID][]int {
	ranks := map[etcd.ID][]int{}
	for i := range w.Incarnations {
		l := &w.Incarnations[i]
		ranks[l.ID] = append(ranks[l.ID], 0, l.Index)
		for _, change := range pending(w, l) {
			ranks[l.ID] = append(ranks[l.ID], change.Index)
		}
	}
	for i := range w.Volumes {
		if d := w.Volumes[i].Data; d != nil {
			ranks[d.Cluster] = append(ranks[d.Cluster], d.Index)
		}
	}
	for i := range w.Pods {
		if d := w.Pods[i].Scratch; d != nil {
			ranks[d.Cluster] = append(ranks[d.Cluster], d.Index)
		}
	}
	for id := range ranks {
		slices.Sort(ranks[id])
		ranks[id] = slices.Compact(ranks[id])
	}
	return ranks
}

// pending are the changes of a membership that a member with data has not applied.
func pending(w *world.World, l *world.Life) []world.MembershipChange {
	lowest := l.Index
	for i := range l.Entries {
		if d := w.DataOf(l.Entries[i].Name); d != nil && d.Cluster == l.ID {
			lowest = min(lowest, d.Index)
		}
	}
	first := 0
	for i, change := range l.Changes {
		if change.Index <= lowest {
			first = i + 1
		}
	}
	return l.Changes[first:]
}

func (e *encoder) life(w *world.World, l *world.Life) {
	c := *l
	e.rank(l.ID, c.Index)
	pending := pending(w, l)
	e.number(len(pending))
	for _, change := range pending {
		e.rank(l.ID, change.Index)
		for _, m := range change.Members {
			e.identity(m.ID.String())
			e.truth(m.Learner)
		}
	}
	c.Index, c.FullAt, c.ChangedAt, c.LoweredAt, c.LastV2, c.Changes = 0, 0, 0, 0, 0, nil
	e.value(reflect.ValueOf(c))
}

func (e *encoder) data(d *world.Data) {
	e.truth(d == nil)
	if d == nil {
		return
	}
	c := *d
	e.rank(d.Cluster, d.Index)
	c.Index, c.Snapshot = 0, 0
	e.value(reflect.ValueOf(c))
}

func (e *encoder) pods(w *world.World, pods []world.Pod) {
	e.number(len(pods))
	for _, p := range byName(pods, func(p world.Pod) string { return p.Name }) {
		e.identity(fmt.Sprintf("pod-%d", p.UID))
		e.data(p.Scratch)
		v := w.Volume(p.Name)
		e.truth(v != nil && v.Created > p.Created)
		e.truth(p.AddressSince > 0)
		if (p.Waits || p.Follows(w)) && p.AddressSince > 0 {
			e.age(p.AddressSince)
		}
		if !p.Ready {
			e.age(p.UnreadySince)
			e.age(p.FailingSince())
		}
		if p.State == state.PodDeleting {
			e.age(p.GoneBy)
		}
		p.UID, p.Created, p.AddressSince, p.UnreadySince, p.ExpectedSince, p.GoneBy, p.Resize.At, p.Scratch = 0, 0, 0, 0, 0, 0, 0, nil
		p.Failures = min(p.Failures, 3) // more make no difference
		p.Bump = 0
		e.text(strings.Join(p.Peers, ","))
		e.endpoint(w, &p)
		p.Peers, p.TLS = nil, nil
		e.value(reflect.ValueOf(p))
	}
}

func (e *encoder) volumes(w *world.World, volumes []world.Volume) {
	e.number(len(volumes))
	for _, v := range byName(volumes, func(v world.Volume) string { return v.Name }) {
		e.identity(fmt.Sprintf("claim-%d", v.UID))
		e.data(v.Data)
		e.data(v.Away)
		if v.Aside {
			e.age(v.Since)
		}
		r, last := w.Cluster.Status.Recovery, w.Cluster.Status.LastRecovery
		e.truth(r != nil && r.StartedAt != nil && w.At(v.Created).After(r.StartedAt.Time))
		e.truth(r != nil && r.StartedAt != nil && v.RecoveredAt.Equal(r.StartedAt.Time))
		e.truth(last != nil && v.RecoveredAt.Equal(last.StartedAt.Time))
		e.time(v.RecoveredAt)
		v.UID, v.Created, v.Since, v.Data, v.Away, v.RecoveredAt = 0, 0, 0, nil, nil, time.Time{}
		e.value(reflect.ValueOf(v))
	}
}

// tls writes the CAs and Secrets of a world, and what the operator remembers of silent members.
func (e *encoder) tls(w *world.World) {
	t := w.TLS
	e.truth(t == nil)
	if t == nil {
		return
	}
	e.truth(w.PlainProbes)
	for _, part := range []any{t.Held, t.Missing, t.Signs, t.Before, t.Asked, t.Expired} {
		e.value(reflect.ValueOf(part))
	}
	e.age(t.TrustSince)
	e.age(t.ShownSince)
	e.time(t.Silence.NoQuorum())
	for _, p := range byName(w.Pods, func(p world.Pod) string { return p.Name }) {
		if quiet, is := t.Silence.Of(p.Name); is {
			e.text(p.Name)
			e.value(reflect.ValueOf(quiet))
		}
	}
}

// endpoint writes what a Pod has, and the members that it is connected to.
func (e *encoder) endpoint(w *world.World, p *world.Pod) {
	t := p.TLS
	e.truth(t == nil)
	if t == nil {
		return
	}
	for _, part := range []any{t.Trust, t.Loaded, t.Has, t.Skew, t.Process != 0} {
		e.value(reflect.ValueOf(part))
	}
	if t.Process == 0 {
		return
	}
	e.age(t.Since)
	for _, other := range byName(w.Pods, func(p world.Pod) string { return p.Name }) {
		e.truth(other.TLS != nil && other.Name != p.Name && raft.Linked(w, p, &other))
	}
}
