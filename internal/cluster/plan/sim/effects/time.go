// Package effects is what happens in a simulated world by itself when time passes: kubelets start and end Pods, volumes are removed, members
// start etcd, and restore-operator takes a safety snapshot.
package effects

import (
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
)

// Tick lets a second go by: what is under way gets one step further. It says whether anything did. Where nothing
// did, time flies.
func Tick(w *world.World) (moved bool) {
	moved = Second(w)
	if !moved {
		w.Now += 149
	}
	return moved
}

// Second lets a second go by, also if nothing moves in it.
func Second(w *world.World) (moved bool) {
	w.Now++
	for i := 0; i < len(w.Pods); i++ {
		before, ended, later := w.Pods[i].State, w.Pods[i].Ended, w.TLS != nil && MountsLater(w, &w.Pods[i])
		moved = tickResize(w, &w.Pods[i]) || moved
		gone := TickPod(w, &w.Pods[i])
		if gone {
			w.Pods = slices.Delete(w.Pods, i, i+1)
			i--
		}
		moved = moved || gone || w.Pods[i].State != before || w.Pods[i].Ended != ended || later
	}
	w.Volumes = slices.DeleteFunc(w.Volumes, func(v world.Volume) bool {
		p := w.Pod(v.Name)
		gone := v.Deleting && (p == nil || !p.Placed)
		moved = moved || gone
		return gone
	})
	moved = TickVolumes(w) || moved
	moved = saveExactly(w) || moved
	moved = raft.Elect(w) || moved
	for i := range w.Incarnations {
		moved = raft.TickLife(w, &w.Incarnations[i]) || moved
	}
	return moved
}

// asksExactly returns the EtcdRestore whose exact safety snapshot the operator has asked for and does not have, and since when; nil for none.
func asksExactly(w *world.World) (*world.Restore, time.Time) {
	status := w.Cluster.Status.Restore
	if status == nil || status.Step != v1beta2.RestoreSwitching || status.SeedReadyTime == nil {
		return nil, time.Time{}
	}
	for i := range w.Restores {
		if r := &w.Restores[i]; r.UID == status.UID && r.Exact && r.SavedFor.Before(status.SeedReadyTime.Time) {
			return r, status.SeedReadyTime.Time
		}
	}
	return nil, time.Time{}
}

// saveExactly is what restore-operator does in a second.
func saveExactly(w *world.World) (moved bool) {
	r, since := asksExactly(w)
	if r == nil {
		return false
	}
	l := w.Formed()
	switch {
	case r.Saver == world.SaverRefused:
		r.SavedUpTo = 0
	case r.Saver == world.SaverAbsent || l == nil || l.Leader == 0 || w.Pick(3) == 1:
		return false
	default:
		r.SavedUpTo = l.FirstRevision + int64(l.Index)
	}
	r.SavedFor = since
	return true
}

// WaitsForExact reports whether the operator waits behind a fence for what restore-operator does within its time, which is not compared while
// clocks are set.
func WaitsForExact(w *world.World) bool {
	r, since := asksExactly(w)
	return r != nil && (w.Clocks || w.At(w.Now).Sub(since) <= v1beta2.SafetySnapshotLimit)
}
