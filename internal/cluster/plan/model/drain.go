package model

import (
	"math/rand/v2"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// drain evicts a Pod as kubectl drain does: as long as the PodDisruptionBudget allows it. It never takes quorum from
// a cluster of three or more, nor the data of one with emptyDir.
func drain(w *World, r *rand.Rand) string {
	p := w.anyPod(r)
	if p == nil || p.state == state.PodDeleting || !w.mayEvict(p) {
		return ""
	}
	l := w.lifeOf(p.incarnation)
	if l == nil || l.entry(p.name) == nil {
		return ""
	}
	before := w.voters(l)
	if w.Gentle && w.losing() {
		return ""
	}
	refused := w.Denied == Budgets // so the budget is that of an earlier size
	name := p.name                 // a Pod that has ended is deleted at once, and p is another one then
	w.stop(name)
	after := w.voters(l)
	small := !w.dataInPods() && before.Total <= 2 && min(w.budgetSize, w.Cluster.Spec.Size) <= 2
	now := w.formed()
	replaced := now != nil && now.incarnation > l.incarnation // clients are led to another cluster, and these members are fenced
	excused := small || replaced || refused || l.accused != 0 // with that alarm, no client is served
	excused = excused || w.PlainProbes                        // the Pod of a member without a leader is ready, too, and the budget counts it
	if before.HasQuorum() && !after.HasQuorum() && !excused && w.downForeign(l) == 0 {
		w.violate(QuorumIsKept, "a drain that the PodDisruptionBudget allows takes %s and leaves %d of %d voters", name, after.Healthy, after.Total)
	}
	return "drain " + name
}

// mayEvict is what the eviction API asks of the PodDisruptionBudget.
func (w *World) mayEvict(p *pod) bool {
	b := w.Budget
	if !b.Exists || b.Incarnation != p.incarnation || !p.exposed || b.Other != "" {
		return false // a Pod without a budget is anybody's to evict, at their own risk
	}
	healthy := 0
	for _, other := range w.pods {
		if other.exposed && other.ready && other.incarnation == b.Incarnation && other.state != state.PodDeleting {
			healthy++
		}
	}
	if !p.ready {
		return !w.budgetKeeps && !state.DataInPods(w.Observe()) || healthy >= b.MinAvailable
	}
	return healthy > b.MinAvailable
}

// checkBudget holds the PodDisruptionBudget of a cluster that is done against what it should allow.
func (w *World) checkBudget(l *life) {
	want := etcd.Quorum(len(l.entries))
	if w.durable() && w.Cluster.Spec.Size <= 2 {
		want = w.Cluster.Spec.Size - 1
	}
	if b := w.Budget; b.Other == "" && (!b.Exists || b.Incarnation != l.incarnation || b.MinAvailable != want) {
		w.violate(EveryRunSettles, "Done is reported, but the PodDisruptionBudget is %+v", b)
	}
}
