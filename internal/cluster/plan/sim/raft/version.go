package raft

import (
	"cmp"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// tickVersion lets the leader decide the cluster's version, and every member follow that has applied it. It says
// whether anything moved.
func tickVersion(w *world.World, l *world.Life) (moved bool) {
	lowest, whole := lowestMinor(w, l)
	if lowest > 0 && lowest <= world.WritesV2 {
		l.LastV2 = l.Index
	}
	if !l.Adopted && lowest > 0 {
		beOf(w, l, lowest) // what it is of is settled when it serves
	}
	switch {
	case l.Downgrade == 0 && whole && lowest > l.Version:
		l.Version, l.ChangedAt, moved = lowest, l.Index, true
	case l.Downgrade != 0 && l.Version != l.Downgrade:
		l.Version, l.ChangedAt, l.LoweredAt, moved = l.Downgrade, l.Index, l.Index, true
	case l.Downgrade != 0 && whole && lowest == l.Downgrade && w.Pick(2) == 0:
		l.Downgrade, moved = 0, true
	}
	for i := range l.Entries {
		if Up(w, l, &l.Entries[i]) && !l.Entries[i].Foreign {
			moved = follow(w, l, &l.Entries[i]) || moved
		}
	}
	return moved
}

// lowestMinor is the lowest minor version that a member runs, 0 without any, and whether all members run.
func lowestMinor(w *world.World, l *world.Life) (lowest int, whole bool) {
	whole = true
	for i := range l.Entries {
		if !Up(w, l, &l.Entries[i]) {
			whole = false
			continue
		}
		if l.Entries[i].Foreign {
			lowest = min(cmp.Or(lowest, l.Version), l.Version)
			continue
		}
		m := world.MinorOf(w.Pod(l.Entries[i].Name).Version)
		l.Motley = l.Motley || (!l.Adopted && l.Version != 0 && m != l.Version)
		if lowest == 0 || m < lowest {
			lowest = m
		}
	}
	return lowest, whole
}

// follow brings a member's data to the cluster's version, and has it take a snapshot when that went down.
func follow(w *world.World, l *world.Life, e *world.Entry) (moved bool) {
	d := w.DataOf(e.Name)
	if d.Index < l.ChangedAt || world.MinorOf(w.Pod(e.Name).Version) < world.Downgrades {
		return false
	}
	quiet := len(l.Fences) > 0 // then no client writes, and what etcd itself writes is enough
	if l.LoweredAt > 0 && (d.Index > l.LoweredAt || quiet) && d.Snapshot < l.LoweredAt {
		d.Snapshot, moved = d.Index, true
	}
	if d.Storage != l.Version && (d.Index > l.ChangedAt || quiet) && w.Pick(2) == 0 {
		d.Storage, moved = l.Version, true
	}
	return moved
}

// Unreadable says why a version of etcd cannot start on a member's data.
func Unreadable(w *world.World, p *world.Pod, d *world.Data) string {
	l, is := w.Life(d.Cluster), world.MinorOf(p.Version)
	if !l.Adopted && is != l.Version {
		l.Motley = true
	}
	if !l.Adopted || w.StatusLost || l.Motley {
		// They never served, or what they ran was forgotten and nobody was there to say it.
		beOf(w, l, min(l.Version, is))
		return ""
	}
	known := world.MinorOf(w.Cluster.Status.CurrentVersion)
	switch {
	case is < l.Version && is == known && !p.Stale:
		p.Stale = true // it went on before anybody saw it, and then the user went back
		fallthrough
	case is < l.Version || is < d.Storage:
		return fmt.Sprintf("the cluster is at 3.%d, and the member's data at 3.%d", l.Version, d.Storage)
	case is > l.Version+1:
		return fmt.Sprintf("the cluster is at 3.%d", l.Version)
	case is >= world.ReadsNoV2 && l.Version < world.ReadsNoV2 && l.LastV2 > d.Snapshot:
		return "it cannot read its raft log"
	}
	return ""
}

// beOf takes a life and all its data for one of a version, which is not on its way down to a higher one.
func beOf(w *world.World, l *world.Life, version int) {
	l.Version = version
	if l.Downgrade > version || w.StatusLost {
		l.Downgrade = 0
	}
	for _, e := range l.Entries {
		if d := w.DataOf(e.Name); d != nil && d.Cluster == l.ID {
			d.Storage = version
		}
	}
}

// EnableDowngrade begins to bring a life down to the minor version before its own, if all members run the present one.
func EnableDowngrade(w *world.World, l *world.Life, step steps.EnableDowngrade) error {
	target := world.MinorOf(step.To)
	for i := range l.Entries {
		if !Up(w, l, &l.Entries[i]) || l.Entries[i].Foreign || world.MinorOf(w.Pod(l.Entries[i].Name).Version) != target+1 {
			return fmt.Errorf("the downgrade target is invalid: %w", etcd.ErrNotYet)
		}
	}
	if l.Version != target+1 {
		return fmt.Errorf("the downgrade target is invalid: %w", etcd.ErrNotYet)
	}
	l.Downgrade = target
	return nil
}
