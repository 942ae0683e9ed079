package explore

import (
	"reflect"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
)

func keyIn(w *world.World) Key {
	x := Exploration{fields: map[reflect.Type][]field{}}
	key, _ := keyOf(&x, w)
	return key
}

// Without this, the states of an exploration change each other, and what it shows is about no world.
func TestAClonedWorldDoesNotChangeTheFirst(t *testing.T) {
	w := world.New(3, true)
	run.Run(w, plan.Plan)
	before := keyIn(w)
	c := w.Clone()
	c.Restores = []world.Restore{{UID: "uid-restore", Verified: true, Revision: 1000}}
	run.Run(c, plan.Plan)
	if keyIn(w) != before || keyIn(c) == before {
		t.Errorf("the first world changed: %v, the clone did not: %v", keyIn(w) != before, keyIn(c) == before)
	}
}

// Without this, an exploration never ends, or it takes worlds for the same in which the plan decides otherwise.
func TestAKeyHasWhatThePlanComparesAndNoMore(t *testing.T) {
	start := func() *world.World {
		w := world.New(3, true)
		run.Run(w, plan.Plan)
		return w
	}
	same := map[string]func(*world.World){
		"a later time": func(w *world.World) {
			w.Now += 7
			run.Run(w, plan.Plan)
		},
		"more writes": func(w *world.World) { raft.Write(w, &w.Incarnations[0]) },
		"other IDs": func(w *world.World) {
			w.UIDs += 5
			w.NextID += 5
		},
	}
	for name, change := range same {
		w := start()
		if change(w); keyIn(w) != keyIn(start()) {
			t.Errorf("%s makes another key", name)
		}
	}
	other := map[string]func(*world.World){
		"a member that lags":     func(w *world.World) { w.DataOf(w.Pods[2].Name).Index-- },
		"a silent member":        func(w *world.World) { w.Pods[0].Hung = true },
		"a fence":                func(w *world.World) { w.Incarnations[0].Fence(w.ReadOnlyFence()) },
		"another leader":         func(w *world.World) { raft.Lead(w, &w.Incarnations[0], 2) },
		"a Pod that is deleted":  func(w *world.World) { effects.Stop(w, w.Pods[0].Name) },
		"a restore":              func(w *world.World) { w.Restores = []world.Restore{{UID: "uid-restore"}} },
		"a spec that is changed": func(w *world.World) { w.Cluster.Spec.ReadOnly = true },
	}
	for name, change := range other {
		w := start()
		if change(w); keyIn(w) == keyIn(start()) {
			t.Errorf("%s makes no other key", name)
		}
	}
	secured := func(change func(*world.World)) Key {
		w := world.New(3, true)
		w.Secure(true)
		run.Run(w, plan.Plan)
		change(w)
		return keyIn(w)
	}
	for name, change := range map[string]func(*world.World){
		"another CA":     func(w *world.World) { fault.RotateCA(w) },
		"an expired CA":  func(w *world.World) { fault.ExpireCA(w) },
		"lost Secrets":   func(w *world.World) { fault.ReplaceCA(w) },
		"no connections": func(w *world.World) { w.TLS.Links = nil },
	} {
		if secured(change) == secured(func(*world.World) {}) {
			t.Errorf("%s makes no other key", name)
		}
	}
	waits := func(seconds int) Key {
		w := start()
		effects.Stop(w, w.Pods[0].Name)
		w.Now += seconds
		return keyIn(w)
	}
	if waits(3) != waits(4) || waits(4) == waits(100) {
		t.Error("a key does not tell which deadlines have passed")
	}
}
