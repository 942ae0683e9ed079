package objstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (
	// HeldMemory is what this process holds of the objects of all stores at the same time, in bytes: names, manifests, headers of segments.
	HeldMemory = 256 << 20
	// keptPart is the part of HeldMemory that is never kept for months, so that the work which takes minutes always has it.
	keptPart = 4
	// holdingStep is how many bytes a Holding takes at a time.
	holdingStep = 16 << 10
	// NameBytes is what a name takes besides its text, in a map and in the lists that are made from it.
	NameBytes = 320
)

// heldOfAll is one for the process, because the process has one memory. keptOfAll is what is kept of it.
var heldOfAll, keptOfAll = budgets(HeldMemory)

func budgets(bytes int64) (held, kept *turns.Budget) {
	return turns.NewDividedBudget(bytes), turns.NewDividedBudget(bytes - bytes/keptPart)
}

// Holding counts what one piece of work holds of the objects of a store, against the memory that all namespaces share. The nil Holding counts nothing.
type Holding struct {
	namespace string
	kept      bool

	mu            sync.Mutex
	needed, taken int64
}

type holdingKey struct{}

// usualPart is the part of HeldMemory that a namespace usually needs less than.
const usualPart = 256

// lackMost is how long a lack of memory counts. What was refused is tried again within this time.
const lackMost = time.Minute

// lacking is when a namespace that holds little lacked memory last.
var lacking atomic.Pointer[time.Time]

// othersLack reports whether others lack memory of which a namespace has much.
func othersLack(namespace string) bool {
	last := lacking.Load()
	return last != nil && time.Since(*last) < lackMost && heldOfAll.Held(namespace) > HeldMemory/usualPart
}

// Hold returns a context in which names, manifests and headers count to what a namespace may hold. The caller calls Release when it does not hold
// them any more. Each piece of work of an operator that lists a store begins with it.
func Hold(ctx context.Context, namespace string) (context.Context, *Holding) {
	h := &Holding{namespace: namespace}
	return context.WithValue(ctx, holdingKey{}, h), h
}

// Keep returns a Holding for what is held for months. All of them leave a quarter of the memory to other work, and those of one namespace a third.
func Keep(namespace string) *Holding { return &Holding{namespace: namespace, kept: true} }

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
	return &Holding{namespace: h.namespace, kept: h.kept}
}

// BesideOf returns another Holding of the namespace of a context, for what is released earlier. Without Hold, it counts nothing.
func BesideOf(ctx context.Context) *Holding {
	h, _ := ctx.Value(holdingKey{}).(*Holding)
	if h == nil {
		return nil
	}
	return h.Beside()
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
	if most := h.budget().Most(); h.taken+steps > most {
		return fmt.Errorf("%w: names and manifests take more than %d MiB, and one namespace may use no more memory", ErrListing, most>>20)
	}
	if why := h.take(steps); why != turns.None {
		if why == turns.AllInUse && h.budget().Held(h.namespace)+steps <= HeldMemory/usualPart {
			now := time.Now()
			lacking.Store(&now)
		}
		return fmt.Errorf("%w: all of them have %d MiB, of which one namespace may use %d MiB, and no more than seven eighths of what others leave: %s", ErrMemory, HeldMemory>>20, h.budget().Most()>>20, why)
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
		h.giveBack(steps)
		h.taken -= steps
	}
}

// budget has what the namespace may have.
func (h *Holding) budget() *turns.Budget {
	if h.kept {
		return keptOfAll
	}
	return heldOfAll
}

func (h *Holding) take(bytes int64) turns.Reason {
	if h.kept {
		if why := keptOfAll.Take(h.namespace, bytes); why != turns.None {
			return why
		}
	}
	why := heldOfAll.Take(h.namespace, bytes)
	if h.kept && why != turns.None {
		keptOfAll.Return(h.namespace, bytes)
	}
	return why
}

func (h *Holding) giveBack(bytes int64) {
	heldOfAll.Return(h.namespace, bytes)
	if h.kept {
		keptOfAll.Return(h.namespace, bytes)
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
		h.giveBack(h.taken)
	}
	h.needed, h.taken = 0, 0
}

// ReplaceMemory gives a test a memory of its own of that many bytes. The first function that it returns reports how many are in use, and the second
// one restores the former memory.
func ReplaceMemory(bytes int64) (used func() int64, restore func()) {
	held, kept := heldOfAll, keptOfAll
	heldOfAll, keptOfAll = budgets(bytes)
	return heldOfAll.Used, func() { heldOfAll, keptOfAll = held, kept }
}

// ReportUncounted calls report if something of a store is held in a context without Hold. Only TestMain calls it.
func ReportUncounted(report func()) { uncounted = report }
