package plan_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/explore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
)

// operation is what is explored: how the world is when it begins, and what users may change meanwhile.
type operation struct {
	name    string
	start   func(size int) *world.World
	changes []explore.Change
	// short is with how many disturbances the short form explores the sizes 1, 2 and 3. It has no time limit, so that it explores the same
	// states on each machine: some 200,000 transitions, which take half a minute.
	short [3]int
}

var operations = []operation{
	{"restore", restoreBegins, []explore.Change{cancelRestore, changeReadOnly, changeSize}, [3]int{1, 0, 0}},
	{"recovery", quorumIsLost, []explore.Change{changeConsent, changeReadOnly}, [3]int{1, 0, 0}},
	{"replacement of a cluster that never formed", neverFormed, []explore.Change{cancelRestore, changeSize}, [3]int{1, 0, 0}},
	{"replacement of a cluster that lost all", allIsLost, []explore.Change{cancelRestore, changeSize}, [3]int{1, 0, 0}},
	{"new CA", caExpires, []explore.Change{rotateAgain, changeSize}, [3]int{1, 0, 0}},
	{"read-only", readOnlyBegins, []explore.Change{changeReadOnly, changeSize}, [3]int{1, 1, 0}},
}

func formedWorld(size int) *world.World {
	w := world.New(size, true)
	run.Run(w, plan.Plan)
	return w
}

func readOnlyBegins(size int) *world.World {
	w := formedWorld(size)
	w.Cluster.Spec.ReadOnly = true
	return w
}

func restoreBegins(size int) *world.World {
	w := formedWorld(size)
	w.Restores = []world.Restore{{UID: restoreUID, Verified: true, Revision: proven}}
	return w
}

// quorumIsLost: as many volumes are lost as a quorum has, but not all. A cluster of one has nothing to recover from.
func quorumIsLost(size int) *world.World {
	w := formedWorld(size)
	for pod := range size/2 + size%2 {
		if pod < size-1 {
			fault.LoseVolume(w, pod)
		}
	}
	w.Cluster.Spec.Recovery = consent()
	return w
}

func neverFormed(size int) *world.World {
	w := world.New(size, true)
	w.Restores = []world.Restore{{UID: restoreUID, Verified: true, Revision: proven}}
	return w
}

// caExpires: the CA has expired while the operator was down.
func caExpires(size int) *world.World {
	w := securedWorld(size, true)
	fault.ExpireCA(w)
	return w
}

func allIsLost(size int) *world.World {
	w := restoreBegins(size)
	for pod := range size {
		fault.LoseVolume(w, pod)
	}
	return w
}

var (
	cancelRestore = explore.Change{Name: "delete the EtcdRestore", Do: func(w *world.World) bool {
		r := &w.Restores[0]
		possible := !r.Deleted && !r.Complete
		r.Deleted = true
		return possible
	}}
	rotateAgain = explore.Change{Name: "request another CA", Do: func(w *world.World) bool {
		fault.RotateCA(w)
		return true
	}}
	changeReadOnly = explore.Change{Name: "change spec.readOnly", Do: func(w *world.World) bool {
		w.Cluster.Spec.ReadOnly = !w.Cluster.Spec.ReadOnly
		return true
	}}
	changeConsent = explore.Change{Name: "change the consent", Do: func(w *world.World) bool {
		if w.Cluster.Spec.Recovery == nil {
			w.Cluster.Spec.Recovery = consent()
		} else {
			w.Cluster.Spec.Recovery = nil
		}
		return true
	}}
	changeSize = explore.Change{Name: "change spec.size", Do: func(w *world.World) bool {
		w.Cluster.Spec.Size = w.Cluster.Spec.Size%3 + 1
		return true
	}}
)

// makeExplore is how long make explore explores one operation of one size. Without it, tests explore the short form.
var makeExplore = flag.Duration("explore", 0, "how long to explore each operation of each size; 0 is the short form")

var (
	exploreSize  = flag.Int("explore.size", 0, "explore only this size; 0 is all")
	exploreMost  = flag.Int("explore.disturbances", 3, "how many disturbances a run has at most")
	exploreNamed = flag.String("explore.operation", "", "explore only operations with this in their names")
)

// Interleavings that no random run meets may lose a write or leave a cluster unserved. Each of them is tried here, within the bounds that are printed.
func TestEachInterleavingKeepsTheInvariants(t *testing.T) {
	for _, op := range operations {
		for size := 1; size <= 3; size++ {
			if !strings.Contains(op.name, *exploreNamed) || *exploreSize != 0 && *exploreSize != size {
				continue
			}
			t.Run(fmt.Sprintf("%s, size %d", op.name, size), func(t *testing.T) {
				x := op.exploration(plan.Plan, op.short[size-1])
				began := time.Now()
				if *makeExplore > 0 {
					x = op.exploration(plan.Plan, *exploreMost)
					x.Stop = func() bool { return time.Since(began) > *makeExplore }
				}
				x.Run(op.start(size))
				report(t, x, time.Since(began))
			})
		}
	}
}

func (op operation) exploration(planner run.Planner, most int) *explore.Exploration {
	return &explore.Exploration{Plan: planner, Changes: op.changes, Bounds: explore.Bounds{Faults: 2, Changes: 2, Kills: 2, Stale: 1, Slow: 1, All: most}}
}

func report(t *testing.T, x *explore.Exploration, took time.Duration) {
	t.Helper()
	t.Logf("%d states of the world, %d beside an old cache, %d transitions in %s", x.States, x.Cached, x.Transitions, took.Round(time.Millisecond))
	switch {
	case x.Unexplored == 0:
		t.Logf("all states with up to %d disturbances", x.AllWith)
	case x.AllWith < 0:
		t.Logf("cut off: %d known states were not explored, also some without a disturbance", x.Unexplored)
	default:
		t.Logf("cut off: all states with up to %d disturbances were explored, and %d known states with more were not", x.AllWith, x.Unexplored)
	}
	if x.Differing > 0 {
		t.Errorf("%d states have the same key as others in which the plan decides otherwise", x.Differing)
	}
	for _, v := range x.Violations {
		t.Errorf("%s\n%s", v.Text, strings.Join(v.Trace, "\n"))
	}
}
