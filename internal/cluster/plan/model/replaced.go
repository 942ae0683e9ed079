package model

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// checkReplacedIsSilent: after the client Service selects a restored cluster, the one before it acknowledges no write. A client with an
// old connection may still ask it for one.
func (w *World) checkReplacedIsSilent(l *life) {
	selected := w.lifeOf(w.Services.ClientIncarnation)
	if selected != nil && selected.restore != "" && l.adopted && l.incarnation < selected.incarnation && w.Services.ClientClusterID == selected.id.String() {
		w.violate(ReplacedIsSilent, "incarnation %d acknowledges a write, and the client Service selects incarnation %d", l.incarnation, selected.incarnation)
	}
}

// checkReplacedLives: when a seed becomes the cluster, no cluster before it may have a quorum of processes that run on,
// on nodes that do not answer too. Otherwise both would acknowledge writes.
func (w *World) checkReplacedLives(incarnation int32) {
	for i := range w.incarnations {
		l := &w.incarnations[i]
		if l.incarnation == incarnation || !l.adopted {
			continue
		}
		v := etcd.Voters{}
		for _, e := range l.entries {
			if e.learner {
				continue
			}
			v.Total++
			if e.foreign && !e.down {
				v.Healthy++
			}
			if p := w.pod(e.name); p != nil && p.state != state.PodEnded && !p.ended && w.running(p) != nil {
				v.Healthy++
			}
		}
		if seed := w.lifeOf(incarnation); seed != nil && w.Cluster.Status.Restore.RevisionBump > 0 && !w.statusLost && seed.revision <= l.revision+int64(l.index) {
			w.violate(OneIdentityOneHistory, "the revision falls from %d to %d", l.revision+int64(l.index), seed.revision)
		}
		if v.Total > 0 && v.HasQuorum() && len(l.fences) == 0 {
			w.violate(AcknowledgedWritesSurvive, "the seed becomes the cluster while %d of %d voters of the one before it may run", v.Healthy, v.Total)
		}
	}
}

// checkUnfence: the members that a restore has replaced take no writes again.
func (w *World) checkUnfence(l *life) {
	for i := range w.incarnations {
		if later := &w.incarnations[i]; l != nil && later.adopted && later.incarnation > l.incarnation {
			w.violate(AcknowledgedWritesSurvive, "the fence of incarnation %d is taken back beside incarnation %d", l.incarnation, later.incarnation)
		}
	}
}

// checkOneLife: once a restored cluster has taken over, none before it has a leader and takes writes.
func (w *World) checkOneLife() {
	now := w.formed()
	if now == nil || !now.adopted {
		return
	}
	for i := range w.incarnations {
		if l := &w.incarnations[i]; l.adopted && l.incarnation < now.incarnation && l.leader != 0 && len(l.fences) == 0 {
			w.violate(AcknowledgedWritesSurvive, "the cluster of incarnation %d acknowledges writes beside incarnation %d", l.incarnation, now.incarnation)
		}
	}
}
