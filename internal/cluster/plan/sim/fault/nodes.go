package fault

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
)

// LoseNode loses the node of a Pod, if there is one: Kubernetes deletes the Pod, and nobody confirms that it stopped.
func LoseNode(w *world.World, pod int) {
	if pod >= len(w.Pods) {
		return
	}
	w.Pods[pod].Stuck = true
	effects.Stop(w, w.Pods[pod].Name)
}

// loseNode is LoseNode in random worlds, in which the Pod may be gone when it has stopped.
var loseNode = onPod("lose the node of", func(w *world.World, p *world.Pod) {
	name := p.Name
	effects.Stop(w, name)
	if left := w.Pod(name); left != nil {
		left.Stuck = true
	}
})
