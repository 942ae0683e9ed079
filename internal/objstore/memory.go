package objstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (
	// HeldMemory is what this process holds of the objects of all stores at the same time, in bytes: names, manifests, headers of segments.
	HeldMemory = 256 << 20
	// holdingStep is how many bytes a Holding takes at a time.
	holdingStep = 16 << 10
	// NameBytes is what a name takes besides its text, in a map and in the lists that are made from it.
	NameBytes = 320
)

// heldOfAll is one for the process, because the process has one memory.
var heldOfAll = turns.NewBudget(HeldMemory)

// ErrMemory means that the names, manifests and headers of other objects take the memory at present.
var ErrMemory = errors.New("the operator cannot hold more names and manifests of stores in memory at present")

// Holding counts what one piece of work holds of the objects of a store, against the memory that all namespaces share. The nil Holding counts nothing.
type Holding struct {
	namespace string

	mu            sync.Mutex
	needed, taken int64
}

type holdingKey struct{}

// Hold returns a context in which names, manifests and headers count to what a namespace may hold. The caller calls Release when it does not hold
// them any more. Each piece of work of an operator that lists a store begins with it.
func Hold(ctx context.Context, namespace string) (context.Context, *Holding) {
	h := &Holding{namespace: namespace}
	return context.WithValue(ctx, holdingKey{}, h), h
}

// uncounted is called if something is held in a context without Hold. It is nil, except in tests.
var uncounted func()

// HoldingOf returns the Holding of a context, and nil if it has none.
func HoldingOf(ctx context.Context) *Holding {
	h, _ := ctx.Value(holdingKey{}).(*Holding)
	if h == nil && uncounted != nil {
		uncounted()
	}
	return h
}

// Beside returns another Holding of the same namespace, for what is released earlier.
func (h *Holding) Beside() *Holding {
	if h == nil {
		return &Holding{}
	}
	return &Holding{namespace: h.namespace}
}

// Add counts bytes. The error is ErrMemory if others hold the rest of the memory. It is ErrListing if they would not fit without others, either.
func (h *Holding) Add(bytes int64) error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	steps := (h.needed + bytes - h.taken + holdingStep - 1) / holdingStep * holdingStep
	if steps <= 0 {
		h.needed += bytes
		return nil
	}
	if most := heldOfAll.Most(); h.taken+steps > most {
		return fmt.Errorf("%w: names and manifests take more than %d MiB, and one namespace may use no more memory", ErrListing, most>>20)
	}
	if why := heldOfAll.Take(h.namespace, steps); why != turns.None {
		return fmt.Errorf("%w: all of them have %d MiB, of which one namespace may use %d MiB, and %s", ErrMemory, HeldMemory>>20, heldOfAll.Most()>>20, why)
	}
	h.needed, h.taken = h.needed+bytes, h.taken+steps
	return nil
}

// Return returns bytes that were counted with Add.
func (h *Holding) Return(bytes int64) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.needed = max(h.needed-bytes, 0)
	if steps := (h.taken - h.needed) / holdingStep * holdingStep; steps > 0 {
		heldOfAll.Return(h.namespace, steps)
		h.taken -= steps
	}
}

// Release returns all. The Holding can be used again.
func (h *Holding) Release() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken > 0 {
		heldOfAll.Return(h.namespace, h.taken)
	}
	h.needed, h.taken = 0, 0
}

// ReplaceMemory gives a test a memory of its own of that many bytes. The first function that it returns reports how many are in use, and the second
// one restores the former memory.
func ReplaceMemory(bytes int64) (used func() int64, restore func()) {
	before, now := heldOfAll, turns.NewBudget(bytes)
	heldOfAll = now
	return now.Used, func() { heldOfAll = before }
}

// ReportUncounted calls report if something of a store is held in a context without Hold. Only TestMain calls it.
func ReportUncounted(report func()) { uncounted = report }
