package check

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

func checkAdopt(w *world.World, step steps.AdoptSeed) {
	seed := w.LifeOf(step.Incarnation)
	if seed == nil || seed.Leader == 0 {
		w.Violate(world.DataIsKept, "a seed that does not serve becomes the cluster")
	}
	checkSeedReadOnly(w, seed)
	checkExact(w, w.Formed(), step)
	checkReplacedLives(w, step.Incarnation)
}

// checkOnce: an EtcdRestore that has become the cluster is not run again.
func checkOnce(w *world.World, step steps.BeginRestore) {
	for _, l := range w.Incarnations {
		if l.Adopted && l.Restore != "" && l.Restore == step.Restore.UID {
			w.Violate(world.DataIsKept, "EtcdRestore %s runs a second time", l.Restore)
		}
	}
}

// checkReplacedLives: when a seed becomes the cluster, no cluster before it may have a quorum of processes that run on,
// on nodes that do not answer too. Otherwise both would acknowledge writes.
func checkReplacedLives(w *world.World, incarnation int32) {
	for i := range w.Incarnations {
		l := &w.Incarnations[i]
		if l.Incarnation == incarnation || !l.Adopted {
			continue
		}
		v := etcd.Voters{}
		for _, e := range l.Entries {
			if e.Learner {
				continue
			}
			v.Total++
			if e.Foreign && !e.Down {
				v.Healthy++
			}
			if p := w.Pod(e.Name); p != nil && p.State != state.PodEnded && !p.Ended && w.Running(p) != nil {
				v.Healthy++
			}
		}
		if seed := w.LifeOf(incarnation); seed != nil && w.Cluster.Status.Restore.RevisionBump > 0 && !w.StatusLost && seed.FirstRevision <= l.FirstRevision+int64(l.Index) {
			w.Violate(world.OneIdentityOneHistory, "the revision falls from %d to %d", l.FirstRevision+int64(l.Index), seed.FirstRevision)
		}
		if v.Total > 0 && v.HasQuorum() && len(l.Fences) == 0 {
			w.Violate(world.AcknowledgedWritesSurvive, "the seed becomes the cluster while %d of %d voters of the one before it may run", v.Healthy, v.Total)
		}
	}
}

// checkUnfence: the members that a restore has replaced take no writes again.
func checkUnfence(w *world.World, l *world.Life) {
	for i := range w.Incarnations {
		if later := &w.Incarnations[i]; l != nil && later.Adopted && later.Incarnation > l.Incarnation {
			w.Violate(world.AcknowledgedWritesSurvive, "the fence of incarnation %d is taken back beside incarnation %d", l.Incarnation, later.Incarnation)
		}
	}
}

// OneLife checks that once a restored cluster has taken over, none before it has a leader and takes writes.
func OneLife(w *world.World) {
	now := w.Formed()
	if now == nil || !now.Adopted {
		return
	}
	for i := range w.Incarnations {
		if l := &w.Incarnations[i]; l.Adopted && l.Incarnation < now.Incarnation && l.Leader != 0 && len(l.Fences) == 0 {
			w.Violate(world.AcknowledgedWritesSurvive, "the cluster of incarnation %d acknowledges writes beside incarnation %d", l.Incarnation, now.Incarnation)
		}
	}
}

// checkExact: a seed takes over only when the safety snapshot has all that the members before it acknowledged, unless nothing of their data is left.
func checkExact(w *world.World, l *world.Life, step steps.AdoptSeed) {
	if l == nil || l.Incarnation == step.Incarnation || !l.Adopted || !l.Quorate || !anyData(w, l) || w.StatusLost {
		return
	}
	for _, r := range w.Restores {
		if r.UID == w.Cluster.Status.Restore.UID && r.Exact && r.SavedUpTo < l.FirstRevision+int64(l.Index) {
			w.Violate(world.AcknowledgedWritesSurvive, "the seed takes over, and the exact safety snapshot has revision %d of %d", r.SavedUpTo, l.FirstRevision+int64(l.Index))
		}
	}
}

// anyData: a voter still has its data.
func anyData(w *world.World, l *world.Life) bool {
	return slices.ContainsFunc(l.Entries, func(e world.Entry) bool {
		d := w.DataOf(e.Name)
		return !e.Learner && !e.Foreign && d != nil && d.Cluster == l.ID && d.Member == e.ID && !d.Corrupt && !d.Copied
	})
}

// checkSeedReadOnly: a read-only cluster takes no write between its restore and its next fence.
func checkSeedReadOnly(w *world.World, seed *world.Life) {
	if seed != nil && w.Cluster.Spec.ReadOnly && raft.HoldsFences(w) && !slices.Contains(seed.Fences, w.ReadOnlyFence()) {
		w.Violate(world.AcknowledgedWritesSurvive, "the seed of a read-only cluster takes writes")
	}
}
