package model

import (
	"reflect"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

func keyIn(w *World) Key {
	x := Exploration{fields: map[reflect.Type][]field{}}
	key, _ := x.keyOf(w)
	return key
}

// Without this, the states of an exploration change each other, and what it shows is about no world.
func TestAClonedWorldDoesNotChangeTheFirst(t *testing.T) {
	w := New(3, true)
	w.Run(plan.Plan)
	before := keyIn(w)
	c := w.Clone()
	c.Restores = []Restore{{UID: "uid-restore", Verified: true, Revision: 1000}}
	c.Run(plan.Plan)
	if keyIn(w) != before || keyIn(c) == before {
		t.Errorf("the first world changed: %v, the clone did not: %v", keyIn(w) != before, keyIn(c) == before)
	}
}

// Without this, an exploration never ends, or it takes worlds for the same in which the plan decides otherwise.
func TestAKeyHasWhatThePlanComparesAndNoMore(t *testing.T) {
	start := func() *World {
		w := New(3, true)
		w.Run(plan.Plan)
		return w
	}
	same := map[string]func(*World){
		"a later time": func(w *World) {
			w.now += 7
			w.Run(plan.Plan)
		},
		"more writes": func(w *World) { w.write(&w.incarnations[0]) },
		"other IDs": func(w *World) {
			w.uids += 5
			w.nextID += 5
		},
	}
	for name, change := range same {
		w := start()
		if change(w); keyIn(w) != keyIn(start()) {
			t.Errorf("%s makes another key", name)
		}
	}
	other := map[string]func(*World){
		"a member that lags":     func(w *World) { w.dataOf(w.pods[2].name).index-- },
		"a silent member":        func(w *World) { w.pods[0].hung = true },
		"a fence":                func(w *World) { w.incarnations[0].fence(w.readOnlyFence()) },
		"another leader":         func(w *World) { w.lead(&w.incarnations[0], 2) },
		"a Pod that is deleted":  func(w *World) { w.stop(w.pods[0].name) },
		"a restore":              func(w *World) { w.Restores = []Restore{{UID: "uid-restore"}} },
		"a spec that is changed": func(w *World) { w.Cluster.Spec.ReadOnly = true },
	}
	for name, change := range other {
		w := start()
		if change(w); keyIn(w) == keyIn(start()) {
			t.Errorf("%s makes no other key", name)
		}
	}
	secured := func(change func(*World)) Key {
		w := New(3, true)
		w.Secure(true)
		w.Run(plan.Plan)
		change(w)
		return keyIn(w)
	}
	for name, change := range map[string]func(*World){
		"another CA":     func(w *World) { w.RotateCA() },
		"an expired CA":  func(w *World) { w.ExpireCA() },
		"lost Secrets":   func(w *World) { w.ReplaceCA() },
		"no connections": func(w *World) { w.TLS.links = nil },
	} {
		if secured(change) == secured(func(*World) {}) {
			t.Errorf("%s makes no other key", name)
		}
	}
	waits := func(seconds int) Key {
		w := start()
		w.stop(w.pods[0].name)
		w.now += seconds
		return keyIn(w)
	}
	if waits(3) != waits(4) || waits(4) == waits(100) {
		t.Error("a key does not tell which deadlines have passed")
	}
}
