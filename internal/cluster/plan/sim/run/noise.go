package run

import (
	"errors"
	"math/rand/v2"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/check"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// Noise runs the operator in a world of faults, and remembers what it saw for when its caches lag.
type Noise struct {
	World *world.World
	Plan  Planner
	Rand  *rand.Rand
	// Log is told of everything that happens, when it is set.
	Log func(format string, a ...any)

	seen []state.State
	// caches of all earlier passes. cache is the one that the operator has for the next lagging passes.
	caches  []Cache
	cache   Cache
	lagging int
}

// errAPI is what a call that fails says.
var errAPI = errors.New("the API server does not answer")

// lag is how many passes a cache may be behind.
const lag = 3

// Step is one pass of the operator, with faults before it and in it, and a second of the world.
func (n *Noise) Step() {
	w, r := n.World, n.Rand
	if r.IntN(4) == 0 {
		if said := fault.Random(w, r); said != "" {
			n.log("  fault: %s", said)
		}
	}
	if n.caches = append(n.caches, Snapshot(w)); n.lagging == 0 && r.IntN(longLag) == 0 {
		n.fallBehind()
	}
	if n.lagging > 0 {
		n.behind()
		effects.Tick(w)
		return
	}
	s := observe.Observe(w)
	if n.seen = append(n.seen, s); len(n.seen) > lag {
		n.seen = n.seen[1:]
	}
	switch r.IntN(24) {
	case 0:
		n.stale()
	case 1:
		n.killed(s)
	case 2:
		step := n.Plan(s)
		n.log("%T%+v fails", step, step)
		Report(w, s, step, errAPI)
	default:
		reported, err := PlanAndDo(w, &s, func(s state.State) steps.Step {
			step := n.Plan(s)
			n.log("%T%+v", step, step)
			return step
		})
		Report(w, s, reported, err)
	}
	effects.Tick(w)
}

// longLag is how seldom a cache falls behind for many passes, and how many these are at most.
const longLag = 40

// fallBehind gives the operator an old cache: its own stops to be updated, or it is a new leader with one of any age.
func (n *Noise) fallBehind() {
	n.lagging, n.cache = 1+n.Rand.IntN(longLag), n.caches[len(n.caches)-1]
	if n.Rand.IntN(2) == 0 {
		n.cache = n.caches[n.Rand.IntN(len(n.caches))]
	}
	n.log("  the cache is behind for %d passes", n.lagging)
}

// behind is a pass on the old cache.
func (n *Noise) behind() {
	n.lagging--
	s := ObserveThrough(n.World, n.cache)
	step := n.Plan(s)
	refused := DoThrough(n.World, n.cache, s, step)
	n.log("%T%+v on an old cache; behind: %q", step, step, refused)
}

// stale acts on what was true some passes ago. The status write is refused, for the object has changed since.
func (n *Noise) stale() {
	s := n.seen[n.Rand.IntN(len(n.seen))]
	step := n.Plan(s)
	n.log("%T%+v on an old state", step, step)
	check.Stale(n.World, step)
	n.World.Stale = true
	_, _ = Do(n.World, s, step) // the next pass finds out
	n.World.Stale = false
}

// killed ends the operator between its act and its status write.
func (n *Noise) killed(s state.State) {
	step := n.Plan(s)
	n.log("%T%+v, then killed", step, step)
	check.Step(n.World, step)
	_, _ = Do(n.World, s, step) // nobody is left to hear of it
}

func (n *Noise) log(format string, a ...any) {
	if n.Log != nil {
		n.Log(format, a...)
	}
}
