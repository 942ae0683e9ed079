package explore

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
)

// checkCycles looks for a fair cycle in which nothing settles: passes and effects without end, although no disturbance happens any more. A cycle is fair if each action that is possible in all of its states is among those that it does.
func (x *Exploration) checkCycles() {
	for _, states := range x.components() {
		if len(states) == 1 || !fair(x, states) || slices.ContainsFunc(states, func(id int32) bool { return x.met[id].settled || !x.met[id].whole }) {
			continue
		}
		text := fmt.Sprintf("%s: %d states are a cycle in which nothing settles", world.EveryRunSettles, len(states))
		x.found(states[0], "and then without end: "+fmt.Sprint(round(x, states)), text)
	}
}

func fair(x *Exploration, states []int32) bool {
	possible, done := map[string]int{}, map[string]bool{}
	for _, id := range states {
		of := map[string]bool{}
		for _, e := range x.met[id].edges {
			of[e.action] = true
			if _, inside := slices.BinarySearch(states, e.to); inside {
				done[e.action] = true
			}
		}
		for action := range of {
			possible[action]++
		}
	}
	for action, n := range possible {
		if n == len(states) && !done[action] {
			return false
		}
	}
	return true
}

// round are the first actions of a cycle, as they were met.
func round(x *Exploration, states []int32) []string {
	var steps []string
	for _, id := range states[:min(len(states), 12)] {
		steps = append(steps, x.met[id].by)
	}
	return steps
}

// components are the sets of states that reach each other without a disturbance, each sorted. It is Tarjan's algorithm without recursion.
func (x *Exploration) components() [][]int32 {
	t := tarjan{x: x, index: make([]int32, len(x.met)), low: make([]int32, len(x.met)), on: make([]bool, len(x.met))}
	for id := range x.met {
		if t.index[id] == 0 {
			t.visit(int32(id))
		}
	}
	return t.found
}

type tarjan struct {
	x          *Exploration
	index, low []int32
	on         []bool
	next       int32
	stack      []int32
	found      [][]int32
}

// frame is a state, and how many of its edges were taken.
type frame struct {
	id   int32
	edge int
}

// visit goes down from a state.
func (t *tarjan) visit(root int32) {
	frames := []frame{{id: root}}
	t.enter(root)
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		if edges := t.x.met[f.id].edges; f.edge < len(edges) {
			to := edges[f.edge].to
			f.edge++
			switch {
			case t.index[to] == 0:
				t.enter(to)
				frames = append(frames, frame{id: to})
			case t.on[to]:
				t.low[f.id] = min(t.low[f.id], t.index[to])
			}
			continue
		}
		id := f.id
		frames = frames[:len(frames)-1]
		if len(frames) > 0 {
			up := frames[len(frames)-1].id
			t.low[up] = min(t.low[up], t.low[id])
		}
		if t.low[id] == t.index[id] {
			t.leave(id)
		}
	}
}

func (t *tarjan) enter(id int32) {
	t.next++
	t.index[id], t.low[id], t.on[id] = t.next, t.next, true
	t.stack = append(t.stack, id)
}

func (t *tarjan) leave(root int32) {
	at := len(t.stack) - 1
	for t.stack[at] != root {
		at--
	}
	states := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	for _, id := range states {
		t.on[id] = false
	}
	slices.Sort(states)
	t.found = append(t.found, states)
}
