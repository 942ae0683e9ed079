package model

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// An exploration visits each state that a world can reach by all interleavings of passes of the operator, effects of the world, and a
// bounded number of disturbances. It visits states with few disturbances first, and among these the near ones, so a trace is short.
//
// Time is symbolic. Passes and effects take none. If nothing else can happen, time passes until the next deadline.

// Bounds of an exploration: how many disturbances of each kind one run has at most, and how many in all.
type Bounds struct {
	// Faults of members. Changes of the spec, or of the EtcdRestore. Kills of the operator. Stale is how often the operator begins to read
	// an old cache. Slow is how often a deadline passes although an effect could happen before.
	Faults, Changes, Kills, Stale, Slow, All int
}

// Change is one that a user may make. It reports false if it makes no sense in the world.
type Change struct {
	Name string
	Do   func(*World) bool
}

// Exploration is what to explore, and what was found.
type Exploration struct {
	Plan    Planner
	Bounds  Bounds
	Changes []Change
	// Stop is asked before each state is expanded.
	Stop func() bool

	// States are those of the world. Cached are those with an operator that reads an old cache. Transitions counts all that were tried.
	States, Cached, Transitions int
	// Unexplored is how many states were met and not expanded, and AllWith is with how many disturbances all were.
	Unexplored, AllWith int
	Violations          []Violation
	// Differing counts the states that were met twice, and in which the second pass led to another state than the first. Their keys lack something.
	Differing int

	ids   map[Key]int32
	met   []meeting
	queue [][]node
	// fields of the structs of a world that are compared.
	fields map[reflect.Type][]field
}

// Violation of an invariant, and the shortest way to it.
type Violation struct {
	Text  string
	Trace []string
}

// node is a state that is to be expanded, with what is left of the bounds.
type node struct {
	world *World
	cache *Cache
	age   int
	left  Bounds
	id    int32
	// deadline is in how many seconds the next one passes; 0 for none.
	deadline int
}

// meeting is what is kept of a state.
type meeting struct {
	from int32
	by   string
	left []Bounds
	// edges to states of the world that need no disturbance. settled: a run may end here.
	edges   []edge
	settled bool
	whole   bool
}

// edge by an action. All passes are one action, so that an operator which does passes is fair.
type edge struct {
	action string
	to     int32
}

// passes that an old cache may be behind.
const passesBehind = 3

// Run explores from a world.
func (x *Exploration) Run(start *World) {
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

// maxViolations after which an exploration ends.
const maxViolations = 3

func (x *Exploration) stops() bool {
	return len(x.Violations) >= maxViolations || x.Stop != nil && x.Stop()
}

// arrive records that a state was reached, and has it expanded if that can show something new. It returns the number of the state.
func (x *Exploration) arrive(n node, by string) int32 {
	x.Transitions++
	n.world.checkState()
	if len(n.world.Violations) > 0 {
		x.found(n.id, by, n.world.Violations[0])
		return -1
	}
	key, deadline := x.keyOf(n.world)
	if n.deadline = deadline; n.cache != nil {
		key = x.keyWith(n.world, n.cache, n.age)
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

// within reports whether other bounds allow all that these allow.
func (b Bounds) within(other Bounds) bool {
	return b.Faults <= other.Faults && b.Changes <= other.Changes && b.Kills <= other.Kills && b.Stale <= other.Stale && b.Slow <= other.Slow && b.All <= other.All
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
	step := w.passNow(x.Plan)
	to := x.arrive(node{world: w, left: n.left, id: n.id}, "pass: "+label(step))
	x.link(n.id, "pass", to)
	return step, to == n.id
}

// passNow is a pass. A pass that records a recovery takes a second: the age of each volume is compared with that time.
func (w *World) passNow(planner Planner) steps.Step {
	_, step := w.Pass(planner)
	switch step.(type) {
	case steps.BeginRecovery, steps.RecordForcing, steps.RecordForced:
		w.now++
	}
	return step
}

// effects of the world. It returns how many of them change something.
func (x *Exploration) effects(n node) (moves int) {
	for _, e := range n.world.effects() {
		w := n.world.Clone()
		w.happen(e)
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

func (x *Exploration) link(from int32, action string, to int32) {
	e, m := edge{action: action, to: to}, &x.met[from]
	if to < 0 || slices.Contains(m.edges, e) {
		return
	}
	if action == "pass" && slices.ContainsFunc(m.edges, func(e edge) bool { return e.action == "pass" }) {
		x.Differing++
	}
	m.edges = append(m.edges, e)
}

// passTime lets time pass, if nothing else happens in the meantime.
func (x *Exploration) passTime(n node, step steps.Step, moves int) {
	w, left := n.world.Clone(), n.deadline
	w.now += left
	if w.TLS != nil {
		w.TLS.silence = w.TLS.silence.Looked(w.at(w.now))
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

func label(step steps.Step) string {
	if wait, is := step.(steps.Wait); is {
		return fmt.Sprintf("Wait %s (stalled: %t): %s", wait.Reason, wait.Stalled, wait.Message)
	}
	return fmt.Sprintf("%T%+v", step, step)
}
