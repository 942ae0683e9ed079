package explore

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// Run explores from a world.
func (x *Exploration) Run(start *world.World) {
	x.ids, x.queue, x.fields = map[Key]int32{}, make([][]node, x.Bounds.All+1), map[reflect.Type][]field{}
	start = start.Clone()
	start.Stepwise = true
	x.AllWith = -1
	x.arrive(node{world: start, left: x.Bounds, id: -1}, "start")
	for used := range x.queue {
		for len(x.queue[used]) > 0 && !x.stops() {
			n := x.queue[used][0]
			x.queue[used][0] = node{}
			x.queue[used] = x.queue[used][1:]
			x.expand(n)
		}
		if len(x.queue[used]) == 0 && x.AllWith == used-1 {
			x.AllWith = used
		}
		x.Unexplored += len(x.queue[used])
	}
	if len(x.Violations) == 0 {
		x.checkCycles()
	}
}

// arrive records that a state was reached, and has it expanded if that can show something new. It returns the number of the state.
func (x *Exploration) arrive(n node, by string) int32 {
	x.Transitions++
	checkState(n.world)
	if len(n.world.Violations) > 0 {
		x.found(n.id, by, n.world.Violations[0])
		return -1
	}
	key, deadline := keyOf(x, n.world)
	if n.deadline = deadline; n.cache != nil {
		key = keyWith(x, n.world, n.cache, n.age)
	}
	id, known := x.ids[key]
	if !known {
		id = int32(len(x.met))
		x.ids[key] = id
		x.met = append(x.met, meeting{from: n.id, by: by})
		if n.cache == nil {
			x.States++
		} else {
			x.Cached++
		}
	}
	m := &x.met[id]
	if slices.ContainsFunc(m.left, n.left.within) {
		return id
	}
	m.left = append(slices.DeleteFunc(m.left, func(b Bounds) bool { return b.within(n.left) }), n.left)
	n.id = id
	used := x.Bounds.All - n.left.All
	x.queue[used] = append(x.queue[used], n)
	return id
}

// expand does all that may happen next.
func (x *Exploration) expand(n node) {
	if n.cache != nil {
		x.expandCached(n)
		return
	}
	before := len(x.Violations)
	step, quiet := x.pass(n)
	moves := x.effects(n)
	if quiet {
		x.passTime(n, step, moves)
	}
	x.disturb(n, step)
	x.met[n.id].whole = len(x.Violations) == before
}

// pass of an operator that reads what is there. It reports whether nothing changed.
func (x *Exploration) pass(n node) (steps.Step, bool) {
	w := n.world.Clone()
	step := passNow(w, x.Plan)
	to := x.arrive(node{world: w, left: n.left, id: n.id}, "pass: "+label(step))
	x.link(n.id, "pass", to)
	return step, to == n.id
}

// effects of the world. It returns how many of them change something.
func (x *Exploration) effects(n node) (moves int) {
	for _, e := range effectsOf(n.world) {
		w := n.world.Clone()
		happen(w, e)
		to := x.arrive(node{world: w, cache: n.cache, age: n.age, left: n.left, id: n.id}, e.name)
		if to != n.id {
			moves++
			if n.cache == nil {
				x.link(n.id, e.name, to)
			}
		}
	}
	return moves
}

// passTime lets time pass, if nothing else happens in the meantime.
func (x *Exploration) passTime(n node, step steps.Step, moves int) {
	w, left := n.world.Clone(), n.deadline
	w.Now += left
	if w.TLS != nil {
		w.TLS.Silence = w.TLS.Silence.Looked(w.At(w.Now))
	}
	by := fmt.Sprintf("%d s pass", left)
	switch {
	case moves > 0 && left > 0 && n.left.Slow > 0 && n.left.All > 0:
		n.left.Slow, n.left.All = n.left.Slow-1, n.left.All-1
		x.arrive(node{world: w, left: n.left, id: n.id}, by+", and the world is slow")
	case moves > 0:
	default:
		x.checkStill(n, step, left == 0)
		if left > 0 {
			x.link(n.id, "time", x.arrive(node{world: w, left: n.left, id: n.id}, by))
		}
	}
}

// disturb does each disturbance that the bounds still allow. The end of a fault is always allowed, but need not happen.
func (x *Exploration) disturb(n node, step steps.Step) {
	for _, d := range heals(n.world) {
		x.disturbBy(n, n.left, d)
	}
	if n.left.All == 0 {
		return
	}
	n.left.All--
	if left := n.left; left.Faults > 0 {
		left.Faults--
		for _, d := range faultsOf(n.world) {
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
		cache := run.Snapshot(n.world)
		x.arrive(node{world: n.world, cache: &cache, left: left, id: n.id}, "the cache is not updated any more")
	}
}

func (x *Exploration) disturbBy(n node, left Bounds, d disturbance) {
	w := n.world.Clone()
	if d.do(w) {
		effects.TickVolumes(w)
		raft.Elect(w)
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
	if len(n.world.Waiting.Since()) > 0 || n.world.TLS != nil {
		w := n.world.Clone()
		fault.Forget(w)
		x.arrive(node{world: w, left: left, id: n.id}, "the operator restarts")
	}
	if !steps.Acts(step) {
		return
	}
	w := n.world.Clone()
	seen := observe.Observe(w)
	_, _ = run.PlanAndDo(w, &seen, x.Plan) // and is killed before it reports that
	fault.Forget(w)
	x.arrive(node{world: w, left: left, id: n.id}, "the operator is killed after "+label(step))
	if stop, is := step.(steps.StopMembers); is {
		w := n.world.Clone()
		stopFirst(w, stop.Except)
		fault.Forget(w)
		x.arrive(node{world: w, left: left, id: n.id}, "the operator is killed within "+label(step))
	}
}

// expandCached: the operator reads an old cache, for up to three passes.
func (x *Exploration) expandCached(n node) {
	x.effects(n)
	x.disturb(n, nil)
	w := n.world.Clone()
	s := run.ObserveThrough(w, *n.cache)
	step := x.Plan(s)
	if behind := run.DoThrough(w, *n.cache, s, step); behind != "" || !steps.Acts(step) {
		return // it changed nothing that the next pass does not see
	}
	by := "pass on an old cache: " + label(step)
	x.arrive(node{world: w, left: n.left, id: n.id}, by)
	x.age(n, w, by)
	w = n.world.Clone()
	x.age(n, w, "pass: "+label(passNow(w, x.Plan)))
}

func (x *Exploration) age(n node, w *world.World, by string) {
	if n.age+1 < passesBehind {
		x.arrive(node{world: w.Clone(), cache: n.cache, age: n.age + 1, left: n.left, id: n.id}, by)
	}
}
