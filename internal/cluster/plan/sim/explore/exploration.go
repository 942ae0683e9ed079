package explore

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
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
	Do   func(*world.World) bool
}

// within reports whether other bounds allow all that these allow.
func (b Bounds) within(other Bounds) bool {
	return b.Faults <= other.Faults && b.Changes <= other.Changes && b.Kills <= other.Kills && b.Stale <= other.Stale && b.Slow <= other.Slow && b.All <= other.All
}

// Violation of an invariant, and the shortest way to it.
type Violation struct {
	Text  string
	Trace []string
}

// Exploration is what to explore, and what was found.
type Exploration struct {
	Plan    run.Planner
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

// node is a state that is to be expanded, with what is left of the bounds.
type node struct {
	world *world.World
	cache *run.Cache
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

// passesBehind is how many passes an old cache may be behind at most.
const passesBehind = 3

func (x *Exploration) stops() bool {
	return len(x.Violations) >= maxViolations || x.Stop != nil && x.Stop()
}

// maxViolations after which an exploration ends.
const maxViolations = 3

func (x *Exploration) found(from int32, by, text string) {
	x.Violations = append(x.Violations, Violation{Text: text, Trace: append(x.trace(from), by)})
}

// trace is how a state was reached first.
func (x *Exploration) trace(id int32) []string {
	var steps []string
	for ; id >= 0; id = x.met[id].from {
		steps = append(steps, x.met[id].by)
	}
	slices.Reverse(steps)
	return steps
}

// passNow is a pass. A pass that records a recovery takes a second: the age of each volume is compared with that time.
func passNow(w *world.World, planner run.Planner) steps.Step {
	_, step := run.Pass(w, planner)
	switch step.(type) {
	case steps.BeginRecovery, steps.RecordForcing, steps.RecordForced:
		w.Now++
	}
	return step
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

func label(step steps.Step) string {
	if wait, is := step.(steps.Wait); is {
		return fmt.Sprintf("Wait %s (stalled: %t): %s", wait.Reason, wait.Stalled, wait.Message)
	}
	return fmt.Sprintf("%T%+v", step, step)
}
