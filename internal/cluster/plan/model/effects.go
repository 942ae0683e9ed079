package model

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// effect is one thing that Kubernetes or etcd does by itself.
type effect struct {
	name string
	do   func(*World)
}

// effects are all that may happen next. Those that change nothing are among them.
func (w *World) effects() []effect {
	var all []effect
	for i := range w.pods {
		if w.still(&w.pods[i]) {
			continue
		}
		all = append(all, effect{"the kubelet acts on " + w.pods[i].name, func(w *World) {
			if w.tickPod(&w.pods[i]) {
				w.pods = slices.Delete(w.pods, i, i+1)
			}
		}})
	}
	for i := range w.volumes {
		if v := w.volumes[i]; w.going(v.name) {
			all = append(all, effect{"volume " + v.name + " is removed", func(w *World) { w.volumes = slices.Delete(w.volumes, i, i+1) }})
		}
	}
	for i := range w.incarnations {
		all = append(all, w.lifeEffects(i)...)
	}
	return all
}

// still reports whether the kubelet does nothing about a Pod.
func (w *World) still(p *pod) bool {
	switch p.state {
	case state.PodEnded:
		return true
	case state.PodDeleting:
		return p.stuck && !p.ended
	case state.PodRunning:
		d := w.running(p)
		return d != nil && w.life(d.cluster).byID(d.member) != nil && (w.TLS == nil || !w.mountsLater(p))
	}
	return p.waits && p.addressSince > 0
}

func (w *World) lifeEffects(i int) []effect {
	l := &w.incarnations[i]
	about := fmt.Sprintf("etcd of incarnation %d ", l.incarnation)
	if v := w.voters(l); l.leader == 0 && v.HasQuorum() {
		first := effect{about + "elects", func(w *World) { w.lead(&w.incarnations[i], 0) }}
		last := effect{about + "elects", func(w *World) { w.lead(&w.incarnations[i], v.Total) }}
		return []effect{first, last}[:min(v.Healthy, 2)]
	}
	if l.leader == 0 {
		return nil
	}
	return []effect{
		{about + "advances", func(w *World) {
			w.advance(&w.incarnations[i])
			w.replicate(&w.incarnations[i])
		}},
		{about + "serves its clients", func(w *World) { w.serveClients(&w.incarnations[i]) }},
	}
}

// happen lets an effect happen, and what follows from it at once.
func (w *World) happen(e effect) {
	e.do(w)
	w.tickVolumes()
	w.elect()
}

// disturbance is one thing that is done to a world from outside. It reports false if it is not possible.
type disturbance struct {
	name string
	do   func(*World) bool
}

// faultsOf are the faults of members.
func (w *World) faultsOf() []disturbance {
	var all []disturbance
	add := func(name, of string, do func(*World, *pod)) {
		all = append(all, disturbance{name + " " + of, func(w *World) bool {
			do(w, w.pod(of))
			return true
		}})
	}
	for _, p := range w.pods {
		if p.state == state.PodRunning && w.running(&p) != nil {
			add("kill the Pod of", p.name, func(w *World, p *pod) { w.stop(p.name) })
			add("silence", p.name, func(_ *World, p *pod) { p.hung = true })
			add("hide from the operator", p.name, func(_ *World, p *pod) { p.deaf = true })
			add("cut off the node of", p.name, func(w *World, p *pod) {
				w.stop(p.name)
				p.stuck, p.cutOff = true, true
			})
		}
	}
	for _, v := range w.volumes {
		if v.data != nil && !v.lost && !v.aside {
			all = append(all, disturbance{"lose the volume of " + v.name, func(w *World) bool {
				w.volume(v.name).lost = true
				w.stop(v.name)
				return true
			}})
		}
	}
	return all
}

// heals end the faults that last.
func (w *World) heals() []disturbance {
	var all []disturbance
	for _, p := range w.pods {
		if p.hung || p.deaf || p.stuck || p.cutOff {
			all = append(all, disturbance{"heal " + p.name, func(w *World) bool {
				p := w.pod(p.name)
				p.hung, p.deaf, p.stuck, p.cutOff = false, false, false, false
				return true
			}})
		}
	}
	return all
}
