package model

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

func toggleReadOnly(w *World, r *rand.Rand) string {
	w.Cluster.Spec.ReadOnly = r.IntN(2) == 0
	return fmt.Sprintf("read-only: %v", w.Cluster.Spec.ReadOnly)
}

func (w *World) readOnlyFence() etcd.ID { return etcd.FenceID(w.Cluster.UID) }

// earlierPod reports whether an earlier operator makes the next Pod. It knows nothing of spec.readOnly, so that the spec asks for it later.
func (w *World) earlierPod() bool {
	l := w.formed()
	return w.pick(4) == 1 && !w.Cluster.Spec.ReadOnly && (l == nil || len(l.fences) == 0)
}

// fenceSeed fences the seed of the restore under way.
func (w *World) fenceSeed(s state.State, step steps.FenceWrites) error {
	seed := w.lifeOf(s.Restore.Incarnation)
	if seed == nil || seed.leader == 0 {
		return fmt.Errorf("seed %s does not serve: %w", step.Seed, etcd.ErrNotYet)
	}
	seed.fence(step.ID)
	return nil
}

func (l *life) fence(id etcd.ID) {
	if !slices.Contains(l.fences, id) {
		l.fences = append(l.fences, id)
	}
}

// holdsFences: all Pods run an etcd in which a fence holds.
func (w *World) holdsFences() bool {
	return !slices.ContainsFunc(w.pods, func(p pod) bool { return minorOf(p.version) < downgrades })
}

// checkReadOnly: when all is as the spec asks, writes are refused exactly if it asks for that.
func (w *World) checkReadOnly(l *life) {
	is := slices.Contains(l.fences, w.readOnlyFence())
	switch {
	case is && !w.Cluster.Spec.ReadOnly:
		w.violate(EveryRunSettles, "the run has ended, but the fence of spec.readOnly refuses writes that the spec allows")
	case !is && w.Cluster.Spec.ReadOnly && w.holdsFences():
		w.violate(AcknowledgedWritesSurvive, "the run has ended, but spec.readOnly refuses no writes")
	case len(l.fences) > 1 || !is && len(l.fences) > 0:
		w.violate(EveryRunSettles, "the run has ended, but a fence refuses writes")
	}
}

// checkSeedReadOnly: a read-only cluster takes no write between its restore and its next fence.
func (w *World) checkSeedReadOnly(seed *life) {
	if seed != nil && w.Cluster.Spec.ReadOnly && w.holdsFences() && !slices.Contains(seed.fences, w.readOnlyFence()) {
		w.violate(AcknowledgedWritesSurvive, "the seed of a read-only cluster takes writes")
	}
}

// restoreFences reports whether a fence of a life is one of a restore.
func (w *World) restoreFences(l *life) bool {
	return slices.ContainsFunc(l.fences, func(id etcd.ID) bool { return id != w.readOnlyFence() })
}
