package effects

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// Stop begins the end of a Pod.
func Stop(w *world.World, name string) {
	p := w.Pod(name)
	if p == nil || p.State == state.PodDeleting {
		return
	}
	if p.State == state.PodEnded && !p.Stuck { // the API server deletes a Pod in a final phase at once
		w.Pods = slices.DeleteFunc(w.Pods, func(p world.Pod) bool { return p.Name == name })
		return
	}
	p.State, p.Reason, p.Wrong = state.PodDeleting, "", ""
	p.GoneBy = w.Now + 30
	raft.Unready(w, p)
}

// Going says whether nothing holds a volume any more that is being deleted.
func Going(w *world.World, name string) bool {
	v, p := w.Volume(name), w.Pod(name)
	return v != nil && v.Deleting && (p == nil || !p.Placed)
}

// TickVolumes takes the data of lost volumes once no process has it open.
func TickVolumes(w *world.World) (moved bool) {
	for i := range w.Volumes {
		v := &w.Volumes[i]
		p := w.Pod(v.Name)
		if v.Lost && v.Data != nil && (p == nil || p.State != state.PodRunning) {
			v.Away, v.Data, moved = v.Data, nil, true
		}
	}
	return moved
}

// NoSpaceLeft is what etcd reports when its volume is full.
const NoSpaceLeft = "no space left on device"
