package fault

import (
	"math/rand/v2"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// drain evicts a Pod as kubectl drain does: as long as the PodDisruptionBudget allows it. It never takes quorum from
// a cluster of three or more, nor the data of one with emptyDir.
func drain(w *world.World, r *rand.Rand) string {
	p := anyPod(w, r)
	if p == nil || p.State == state.PodDeleting || !mayEvict(w, p) {
		return ""
	}
	l := w.LifeOf(p.Incarnation)
	if l == nil || l.Entry(p.Name) == nil {
		return ""
	}
	before := raft.Voters(w, l)
	if w.Gentle && Losing(w) {
		return ""
	}
	refused := w.Denied == world.Budgets // so the budget is that of an earlier size
	name := p.Name                       // a Pod that has ended is deleted at once, and p is another one then
	effects.Stop(w, name)
	after := raft.Voters(w, l)
	small := !dataInPods(w) && before.Total <= 2 && min(w.BudgetSize, w.Cluster.Spec.Size) <= 2
	now := w.Formed()
	replaced := now != nil && now.Incarnation > l.Incarnation // clients are led to another cluster, and these members are fenced
	excused := small || replaced || refused || l.Accused != 0 // with that alarm, no client is served
	excused = excused || w.PlainProbes                        // the Pod of a member without a leader is ready, too, and the budget counts it
	if before.HasQuorum() && !after.HasQuorum() && !excused && raft.DownForeign(w, l) == 0 {
		w.Violate(world.QuorumIsKept, "a drain that the PodDisruptionBudget allows takes %s and leaves %d of %d voters", name, after.Healthy, after.Total)
	}
	return "drain " + name
}

// mayEvict is what the eviction API asks of the PodDisruptionBudget.
func mayEvict(w *world.World, p *world.Pod) bool {
	b := w.Budget
	if !b.Exists || b.Incarnation != p.Incarnation || !p.Exposed || b.Other != "" {
		return false // a Pod without a budget is anybody's to evict, at their own risk
	}
	healthy := 0
	for _, other := range w.Pods {
		if other.Exposed && other.Ready && other.Incarnation == b.Incarnation && other.State != state.PodDeleting {
			healthy++
		}
	}
	if !p.Ready {
		return !w.BudgetKeeps && !state.DataInPods(observe.Observe(w)) || healthy >= b.MinAvailable
	}
	return healthy > b.MinAvailable
}

// dataInPods says whether the Pods of the cluster keep its data, as the spec asks or asked.
func dataInPods(w *world.World) bool {
	for _, p := range w.Pods {
		if l := w.Formed(); p.InPod && l != nil && p.Incarnation == l.Incarnation {
			return true
		}
	}
	return !w.Durable()
}
