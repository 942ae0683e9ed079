package explore

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// effect is one thing that Kubernetes or etcd does by itself.
type effect struct {
	name string
	do   func(*world.World)
}

// effectsOf are all that may happen next. Those that change nothing are among them.
func effectsOf(w *world.World) []effect {
	var all []effect
	for i := range w.Pods {
		if still(w, &w.Pods[i]) {
			continue
		}
		all = append(all, effect{"the kubelet acts on " + w.Pods[i].Name, func(w *world.World) {
			if effects.TickPod(w, &w.Pods[i]) {
				w.Pods = slices.Delete(w.Pods, i, i+1)
			}
		}})
	}
	for i := range w.Volumes {
		if v := w.Volumes[i]; effects.Going(w, v.Name) {
			all = append(all, effect{"volume " + v.Name + " is removed", func(w *world.World) { w.Volumes = slices.Delete(w.Volumes, i, i+1) }})
		}
	}
	for i := range w.Incarnations {
		all = append(all, lifeEffects(w, i)...)
	}
	return all
}

// still reports whether the kubelet does nothing about a Pod.
func still(w *world.World, p *world.Pod) bool {
	switch p.State {
	case state.PodEnded:
		return true
	case state.PodDeleting:
		return p.Stuck && !p.Ended
	case state.PodRunning:
		d := w.Running(p)
		return d != nil && w.Life(d.Cluster).ByID(d.Member) != nil && (w.TLS == nil || !effects.MountsLater(w, p))
	}
	return (p.Waits || p.Follows(w)) && p.AddressSince > 0
}

func lifeEffects(w *world.World, i int) []effect {
	l := &w.Incarnations[i]
	about := fmt.Sprintf("etcd of incarnation %d ", l.Incarnation)
	if v := raft.Voters(w, l); l.Leader == 0 && v.HasQuorum() {
		first := effect{about + "elects", func(w *world.World) { raft.Lead(w, &w.Incarnations[i], 0) }}
		last := effect{about + "elects", func(w *world.World) { raft.Lead(w, &w.Incarnations[i], v.Total) }}
		return []effect{first, last}[:min(v.Healthy, 2)]
	}
	if l.Leader == 0 {
		return nil
	}
	return []effect{
		{about + "advances", func(w *world.World) {
			raft.Advance(w, &w.Incarnations[i])
			raft.Replicate(w, &w.Incarnations[i])
		}},
		{about + "serves its clients", func(w *world.World) { raft.ServeClients(w, &w.Incarnations[i]) }},
	}
}

// happen lets an effect happen, and what follows from it at once.
func happen(w *world.World, e effect) {
	e.do(w)
	effects.TickVolumes(w)
	raft.Elect(w)
}

// disturbance is one thing that is done to a world from outside. It reports false if it is not possible.
type disturbance struct {
	name string
	do   func(*world.World) bool
}

// faultsOf are the faults of members.
func faultsOf(w *world.World) []disturbance {
	var all []disturbance
	add := func(name, of string, do func(*world.World, *world.Pod)) {
		all = append(all, disturbance{name + " " + of, func(w *world.World) bool {
			do(w, w.Pod(of))
			return true
		}})
	}
	for _, p := range w.Pods {
		if p.State == state.PodRunning && w.Running(&p) != nil {
			add("kill the Pod of", p.Name, func(w *world.World, p *world.Pod) { effects.Stop(w, p.Name) })
			add("silence", p.Name, func(_ *world.World, p *world.Pod) { p.Hung = true })
			add("hide from the operator", p.Name, func(_ *world.World, p *world.Pod) { p.Deaf = true })
			add("cut off the node of", p.Name, func(w *world.World, p *world.Pod) {
				effects.Stop(w, p.Name)
				p.Stuck, p.CutOff = true, true
			})
		}
	}
	for _, v := range w.Volumes {
		if v.Data != nil && !v.Lost && !v.Aside {
			all = append(all, disturbance{"lose the volume of " + v.Name, func(w *world.World) bool {
				w.Volume(v.Name).Lost = true
				effects.Stop(w, v.Name)
				return true
			}})
		}
	}
	return all
}

// heals end the faults that last.
func heals(w *world.World) []disturbance {
	var all []disturbance
	for _, p := range w.Pods {
		if p.Hung || p.Deaf || p.Stuck || p.CutOff {
			all = append(all, disturbance{"heal " + p.Name, func(w *world.World) bool {
				p := w.Pod(p.Name)
				p.Hung, p.Deaf, p.Stuck, p.CutOff = false, false, false, false
				return true
			}})
		}
	}
	return all
}

// stopFirst stops one of the Pods that StopMembers stops.
func stopFirst(w *world.World, except int32) {
	for _, p := range w.Pods {
		if p.Incarnation != except && p.State != state.PodDeleting {
			effects.Stop(w, p.Name)
			raft.Elect(w)
			return
		}
	}
}
