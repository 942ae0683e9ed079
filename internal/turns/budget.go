package turns

import (
	"context"
	"slices"
	"sync"
)

// toOthers is the part of a budget that one namespace leaves to the others.
const toOthers = 8

// Budget shares an amount, for example bytes of memory, between the namespaces that one process serves. Namespaces take turns, and each leaves
// an eighth to the others. Nothing overtakes what is first in the order, so a large amount waits only for those that are held.
type Budget struct {
	total   int64
	others  int64 // which part of it one namespace leaves to the others
	divided bool  // see NewDividedBudget

	mu      sync.Mutex
	order   Order
	used    int64
	waiting []*claim
}

type claim struct {
	namespace string
	amount    int64
	admitted  chan struct{} // closed when it is admitted
}

// NewBudget returns a budget of that amount.
func NewBudget(total int64) *Budget { return &Budget{total: total, others: toOthers} }

// NewHalvedBudget returns one of which a namespace leaves half to the others.
func NewHalvedBudget(total int64) *Budget { return &Budget{total: total, others: 2} }

// The last part of a divided budget is for namespaces that hold little: what one has there is a part of what it leaves. So each takes less than the one before, and none takes all.
const (
	forLittle = 32
	little    = 16
)

// NewDividedBudget returns one of which a namespace leaves an eighth of what the others leave, and a part only to those that hold little. So further namespaces find what
// they usually need, also if those before them return nothing for hours. What waits for it would wait for these, so it is only for Take.
func NewDividedBudget(total int64) *Budget {
	return &Budget{total: total, others: toOthers, divided: true}
}

// Most returns what one namespace can have at the same time, if the others leave all.
func (b *Budget) Most() int64 { return b.mostOf(b.total) }

func (b *Budget) mostOf(total int64) int64 { return total - total/b.others }

// Wait waits for an amount, which is at most Most. The caller calls release once.
func (b *Budget) Wait(ctx context.Context, namespace string, amount int64) (release func(), err error) {
	c := &claim{namespace: namespace, amount: amount, admitted: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, c)
	b.admit()
	b.mu.Unlock()
	select {
	case <-c.admitted:
		return func() { b.Return(namespace, amount) }, nil
	default:
	}
	defer LeaveForMany(ctx)()
	select {
	case <-c.admitted:
		return func() { b.Return(namespace, amount) }, nil
	case <-ctx.Done():
		b.giveUp(c)
		return nil, context.Cause(ctx)
	}
}

// Take takes an amount at once, or returns why it does not fit. The caller returns it with Return.
func (b *Budget) Take(namespace string, amount int64) Reason {
	b.mu.Lock()
	defer b.mu.Unlock()
	why := b.why(namespace, amount)
	if why == None {
		b.used += amount
		b.order.Take(namespace, amount)
	}
	return why
}

// Return returns an amount.
func (b *Budget) Return(namespace string, amount int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= amount
	b.order.Return(namespace, amount)
	b.admit()
}

// Why returns why an amount of a namespace would have to wait, and None if it fits.
func (b *Budget) Why(namespace string, amount int64) Reason {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.why(namespace, amount)
}

// Crowds returns whether a namespace holds a part for which others wait. Those that wait for their own share need no part of others.
func (b *Budget) Crowds(namespace string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.order.Held(namespace) > 0 && slices.ContainsFunc(b.waiting, func(c *claim) bool {
		return c.namespace != namespace && b.why(c.namespace, c.amount) != OwnShare
	})
}

// Held returns what a namespace holds.
func (b *Budget) Held(namespace string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.order.Held(namespace)
}

// Used returns what all namespaces hold together.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// why needs b.mu.
func (b *Budget) why(namespace string, amount int64) Reason {
	held := b.order.Held(namespace)
	switch {
	case held+amount > b.Most():
		return OwnShare
	case b.used+amount > b.total, b.divided && !b.leaves(held, amount):
		return AllInUse
	}
	return None
}

// leaves reports whether a namespace that holds so much leaves enough of a divided budget to others if it takes an amount. It needs b.mu.
func (b *Budget) leaves(held, amount int64) bool {
	own, left := held+amount, b.total-b.used-amount
	return own <= left/little || own <= b.mostOf(b.total-b.used+held) && left >= b.total/forLittle
}

// admit needs b.mu. What waits for its own namespace delays no other one.
func (b *Budget) admit() {
	for {
		var next *claim
		for _, c := range b.waiting {
			if b.why(c.namespace, c.amount) != OwnShare && (next == nil || b.order.Compare(c.namespace, next.namespace) < 0) {
				next = c
			}
		}
		if next == nil || b.why(next.namespace, next.amount) != None {
			return
		}
		b.waiting = slices.DeleteFunc(b.waiting, func(c *claim) bool { return c == next })
		b.used += next.amount
		b.order.Take(next.namespace, next.amount)
		close(next.admitted)
	}
}

// giveUp removes a claim whose context has ended. If it was admitted before that, it returns its amount.
func (b *Budget) giveUp(c *claim) {
	b.mu.Lock()
	before := len(b.waiting)
	b.waiting = slices.DeleteFunc(b.waiting, func(w *claim) bool { return w == c })
	waited := len(b.waiting) < before
	b.admit()
	b.mu.Unlock()
	if !waited {
		b.Return(c.namespace, c.amount)
	}
}
