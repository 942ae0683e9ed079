package plan_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/model"
)

// operation is what is explored: how the world is when it begins, and what users may change meanwhile.
type operation struct {
	name    string
	start   func(size int) *model.World
	changes []model.Change
	// short is with how many disturbances the short form explores the sizes 1, 2 and 3. It has no time limit, so that it explores the same
	// states on each machine: some 200,000 transitions, which take half a minute.
	short [3]int
}

var operations = []operation{
	{"restore", restoreBegins, []model.Change{cancelRestore, changeReadOnly, changeSize}, [3]int{1, 0, 0}},
	{"recovery", quorumIsLost, []model.Change{changeConsent, changeReadOnly}, [3]int{1, 0, 0}},
	{"replacement of a cluster that never formed", neverFormed, []model.Change{cancelRestore, changeSize}, [3]int{1, 0, 0}},
	{"replacement of a cluster that lost all", allIsLost, []model.Change{cancelRestore, changeSize}, [3]int{1, 0, 0}},
	{"new CA", caExpires, []model.Change{rotateAgain, changeSize}, [3]int{1, 0, 0}},
	{"read-only", readOnlyBegins, []model.Change{changeReadOnly, changeSize}, [3]int{1, 1, 0}},
}

func formedWorld(size int) *model.World {
	w := model.New(size, true)
	w.Run(plan.Plan)
	return w
}

func readOnlyBegins(size int) *model.World {
	w := formedWorld(size)
	w.Cluster.Spec.ReadOnly = true
	return w
}

func restoreBegins(size int) *model.World {
	w := formedWorld(size)
	w.Restores = []model.Restore{{UID: restoreUID, Verified: true, Revision: proven}}
	return w
}

// quorumIsLost: as many volumes are lost as a quorum has, but not all. A cluster of one has nothing to recover from.
func quorumIsLost(size int) *model.World {
	w := formedWorld(size)
	for pod := range size/2 + size%2 {
		if pod < size-1 {
			w.LoseVolume(pod)
		}
	}
	w.Cluster.Spec.Recovery = consent()
	return w
}

func neverFormed(size int) *model.World {
	w := model.New(size, true)
	w.Restores = []model.Restore{{UID: restoreUID, Verified: true, Revision: proven}}
	return w
}

// caExpires: the CA has expired while the operator was down.
func caExpires(size int) *model.World {
	w := securedWorld(size, true)
	w.ExpireCA()
	return w
}

func allIsLost(size int) *model.World {
	w := restoreBegins(size)
	for pod := range size {
		w.LoseVolume(pod)
	}
	return w
}

var (
	cancelRestore = model.Change{Name: "delete the EtcdRestore", Do: func(w *model.World) bool {
		r := &w.Restores[0]
		possible := !r.Deleted && !r.Complete
		r.Deleted = true
		return possible
	}}
	rotateAgain = model.Change{Name: "request another CA", Do: func(w *model.World) bool {
		w.RotateCA()
		return true
	}}
	changeReadOnly = model.Change{Name: "change spec.readOnly", Do: func(w *model.World) bool {
		w.Cluster.Spec.ReadOnly = !w.Cluster.Spec.ReadOnly
		return true
	}}
	changeConsent = model.Change{Name: "change the consent", Do: func(w *model.World) bool {
		if w.Cluster.Spec.Recovery == nil {
			w.Cluster.Spec.Recovery = consent()
		} else {
			w.Cluster.Spec.Recovery = nil
		}
		return true
	}}
	changeSize = model.Change{Name: "change spec.size", Do: func(w *model.World) bool {
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

func (op operation) exploration(planner model.Planner, most int) *model.Exploration {
	return &model.Exploration{Plan: planner, Changes: op.changes, Bounds: model.Bounds{Faults: 2, Changes: 2, Kills: 2, Stale: 1, Slow: 1, All: most}}
}

func report(t *testing.T, x *model.Exploration, took time.Duration) {
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
