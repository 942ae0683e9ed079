package model

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// disturb does each disturbance that the bounds still allow. The end of a fault is always allowed, but need not happen.
func (x *Exploration) disturb(n node, step steps.Step) {
	for _, d := range n.world.heals() {
		x.disturbBy(n, n.left, d)
	}
	if n.left.All == 0 {
		return
	}
	n.left.All--
	if left := n.left; left.Faults > 0 {
		left.Faults--
		for _, d := range n.world.faultsOf() {
			x.disturbBy(n, left, d)
		}
	}
	if left := n.left; left.Changes > 0 {
		left.Changes--
		for _, change := range x.Changes {
			x.disturbBy(n, left, disturbance{change.Name, change.Do})
		}
	}
	x.kill(n, step)
	if left := n.left; left.Stale > 0 && n.cache == nil {
		left.Stale--
		cache := n.world.Snapshot()
		x.arrive(node{world: n.world, cache: &cache, left: left, id: n.id}, "the cache is not updated any more")
	}
}

func (x *Exploration) disturbBy(n node, left Bounds, d disturbance) {
	w := n.world.Clone()
	if d.do(w) {
		w.tickVolumes()
		w.elect()
		x.arrive(node{world: w, cache: n.cache, age: n.age, left: left, id: n.id}, d.name)
	}
}

// kill the operator after it acted and before it wrote the status, and after that. It forgets since when it waits.
func (x *Exploration) kill(n node, step steps.Step) {
	left := n.left
	if left.Kills == 0 || n.cache != nil {
		return
	}
	left.Kills--
	if len(n.world.waiting.Since()) > 0 || n.world.TLS != nil {
		w := n.world.Clone()
		w.forget()
		x.arrive(node{world: w, left: left, id: n.id}, "the operator restarts")
	}
	if !steps.Acts(step) {
		return
	}
	w := n.world.Clone()
	seen := w.Observe()
	_, _ = w.PlanAndDo(&seen, x.Plan) // and is killed before it reports that
	w.forget()
	x.arrive(node{world: w, left: left, id: n.id}, "the operator is killed after "+label(step))
	if stop, is := step.(steps.StopMembers); is {
		w := n.world.Clone()
		w.stopFirst(stop.Except)
		w.forget()
		x.arrive(node{world: w, left: left, id: n.id}, "the operator is killed within "+label(step))
	}
}

// stopFirst stops one of the Pods that StopMembers stops.
func (w *World) stopFirst(except int32) {
	for _, p := range w.pods {
		if p.incarnation != except && p.state != state.PodDeleting {
			w.stop(p.name)
			w.elect()
			return
		}
	}
}

// expandCached: the operator reads an old cache, for up to three passes.
func (x *Exploration) expandCached(n node) {
	x.effects(n)
	x.disturb(n, nil)
	w := n.world.Clone()
	s := w.ObserveThrough(*n.cache)
	step := x.Plan(s)
	if behind := w.DoThrough(*n.cache, s, step); behind != "" || !steps.Acts(step) {
		return // it changed nothing that the next pass does not see
	}
	by := "pass on an old cache: " + label(step)
	x.arrive(node{world: w, left: n.left, id: n.id}, by)
	x.age(n, w, by)
	w = n.world.Clone()
	x.age(n, w, "pass: "+label(w.passNow(x.Plan)))
}

func (x *Exploration) age(n node, w *World, by string) {
	if n.age+1 < passesBehind {
		x.arrive(node{world: w.Clone(), cache: n.cache, age: n.age + 1, left: n.left, id: n.id}, by)
	}
}
