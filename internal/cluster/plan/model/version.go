package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// versions of etcd, as far as they matter to what a member may be started on. All are of major version 3.

// minorOf "3.6.16" is 6.
func minorOf(version string) int {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return 0
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0
	}
	return n
}

const (
	// downgrades is the first minor version that brings its data down, readsNoV2 the first that cannot read what
	// etcd before 3.6 wrote in its raft log, and writesV2 the last that wrote it.
	downgrades = 6
	readsNoV2  = 7
	writesV2   = 5
)

// storage of a minor version, as a member tells it.
func storage(minor int) string { return fmt.Sprintf("3.%d.0", minor) }

// tickVersion lets the leader decide the cluster's version, and every member follow that has applied it. It says
// whether anything moved.
func (w *World) tickVersion(l *life) (moved bool) {
	lowest, whole := w.lowestMinor(l)
	if lowest > 0 && lowest <= writesV2 {
		l.lastV2 = l.index
	}
	if !l.adopted && lowest > 0 {
		w.beOf(l, lowest) // what it is of is settled when it serves
	}
	switch {
	case l.downgrade == 0 && whole && lowest > l.version:
		l.version, l.changedAt, moved = lowest, l.index, true
	case l.downgrade != 0 && l.version != l.downgrade:
		l.version, l.changedAt, l.loweredAt, moved = l.downgrade, l.index, l.index, true
	case l.downgrade != 0 && whole && lowest == l.downgrade && w.pick(2) == 0:
		l.downgrade, moved = 0, true
	}
	for i := range l.entries {
		if w.up(l, &l.entries[i]) && !l.entries[i].foreign {
			moved = w.follow(l, &l.entries[i]) || moved
		}
	}
	return moved
}

// lowestMinor is the lowest minor version that a member runs, 0 without any, and whether all members run.
func (w *World) lowestMinor(l *life) (lowest int, whole bool) {
	whole = true
	for i := range l.entries {
		if !w.up(l, &l.entries[i]) {
			whole = false
			continue
		}
		if l.entries[i].foreign {
			lowest = min(cmp.Or(lowest, l.version), l.version)
			continue
		}
		m := minorOf(w.pod(l.entries[i].name).version)
		l.motley = l.motley || (!l.adopted && l.version != 0 && m != l.version)
		if lowest == 0 || m < lowest {
			lowest = m
		}
	}
	return lowest, whole
}

// follow brings a member's data to the cluster's version, and has it take a snapshot when that went down.
func (w *World) follow(l *life, e *entry) (moved bool) {
	d := w.dataOf(e.name)
	if d.index < l.changedAt || minorOf(w.pod(e.name).version) < downgrades {
		return false
	}
	quiet := len(l.fences) > 0 // then no client writes, and what etcd itself writes is enough
	if l.loweredAt > 0 && (d.index > l.loweredAt || quiet) && d.snapshot < l.loweredAt {
		d.snapshot, moved = d.index, true
	}
	if d.storage != l.version && (d.index > l.changedAt || quiet) && w.pick(2) == 0 {
		d.storage, moved = l.version, true
	}
	return moved
}

// unreadable says why a version of etcd cannot start on a member's data.
func (w *World) unreadable(p *pod, d *data) string {
	l, is := w.life(d.cluster), minorOf(p.version)
	if !l.adopted && is != l.version {
		l.motley = true
	}
	if !l.adopted || w.statusLost || l.motley {
		// They never served, or what they ran was forgotten and nobody was there to say it.
		w.beOf(l, min(l.version, is))
		return ""
	}
	known := minorOf(w.Cluster.Status.CurrentVersion)
	switch {
	case is < l.version && is == known && !p.stale:
		p.stale = true // it went on before anybody saw it, and then the user went back
		fallthrough
	case is < l.version || is < d.storage:
		return fmt.Sprintf("the cluster is at 3.%d, and the member's data at 3.%d", l.version, d.storage)
	case is > l.version+1:
		return fmt.Sprintf("the cluster is at 3.%d", l.version)
	case is >= readsNoV2 && l.version < readsNoV2 && l.lastV2 > d.snapshot:
		return "it cannot read its raft log"
	}
	return ""
}

// beOf takes a life and all its data for one of a version, which is not on its way down to a higher one.
func (w *World) beOf(l *life, version int) {
	l.version = version
	if l.downgrade > version || w.statusLost {
		l.downgrade = 0
	}
	for _, e := range l.entries {
		if d := w.dataOf(e.name); d != nil && d.cluster == l.id {
			d.storage = version
		}
	}
}

func (w *World) enableDowngrade(l *life, step steps.EnableDowngrade) error {
	target := minorOf(step.To)
	for i := range l.entries {
		if !w.up(l, &l.entries[i]) || l.entries[i].foreign || minorOf(w.pod(l.entries[i].name).version) != target+1 {
			return fmt.Errorf("the downgrade target is invalid: %w", etcd.ErrNotYet)
		}
	}
	if l.version != target+1 {
		return fmt.Errorf("the downgrade target is invalid: %w", etcd.ErrNotYet)
	}
	l.downgrade = target
	return nil
}

// guessVersions are those of a life whose members were put there: that of the lowest, with all that it ever wrote
// in every raft log.
func (w *World) guessVersions(s state.State) {
	for i := range w.incarnations {
		l, highest := &w.incarnations[i], 0
		for _, m := range s.Members {
			if m.Incarnation != l.incarnation {
				continue
			}
			ran := m.Version
			if ran == "" {
				ran = versionOf(m.PodImage)
			}
			highest = max(highest, minorOf(ran))
			if n := minorOf(ran); n > 0 && (l.version == 0 || n < l.version) {
				l.version = n
			}
			if m.Downgrade != "" {
				l.downgrade = minorOf(m.Downgrade)
			}
		}
		if l.version == 0 {
			l.version = minorOf(s.KnownVersion)
		}
		if l.version == 0 {
			l.version = minorOf(s.Spec.EtcdVersion())
		}
		if l.downgrade != 0 {
			l.version = l.downgrade
		}
		if s.Formed() && l.version < readsNoV2 && l.incarnation == 1 {
			l.lastV2, l.index = 1, max(l.index, 1)
		}
		for j := range l.entries {
			if d := w.dataOf(l.entries[j].name); d != nil {
				d.storage, d.index = l.version, max(d.index, l.index)
				if highest >= readsNoV2 || (s.VersionChange != nil && s.VersionChange.Step != v1beta2.VersionChangePreparing) {
					d.snapshot = 1
				}
			}
		}
	}
}

// newest are versions of each minor.
var newest = map[string]string{"3.5": "3.5.35", "3.6": version, "3.7": "3.7.3", "3.8": "3.8.0"}

// checkTemplates: done means that every Pod is what is asked for.
func (w *World) checkTemplates(l *life) {
	if l.downgrade != 0 {
		w.violate(EveryRunSettles, "Done is reported, but etcd is bringing the cluster down to 3.%d", l.downgrade)
	}
	if slices.ContainsFunc(w.pods, func(p pod) bool {
		return p.template != w.template || p.resources != w.resources || p.labels != w.labels
	}) {
		w.violate(EveryRunSettles, "Done is reported, but a Pod differs from the spec")
	}
}
