package turns

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Gate lets a limited number of callers through at the same time. Namespaces take turns, and one namespace holds at most Share of the
// slots. In a gate with one slot, the next namespace waits until the work ends. Limited ends it.
type Gate struct {
	slots int

	mu      sync.Mutex
	order   Order
	inside  int
	waiting []*caller
	ended   ended
	// others is true if it is the turn of a caller that is not urgent, because an urgent one has overtaken it.
	others bool
}

type caller struct {
	namespace string
	urgent    bool
	before    time.Duration // for how long it has waited for other namespaces in other queues
	waits     *waitTime     // nil if it is not urgent
	since     time.Time     // when it began to wait for other namespaces
	admitted  chan struct{} // closed when it is admitted
}

// NewGate returns a gate with that many slots, and at least one.
func NewGate(slots int) *Gate { return &Gate{slots: max(slots, 1)} }

// Enter waits for a slot. The caller calls leave once, after its work. One with a context of Urgent comes before the others, but no two such callers
// overtake the same other ones.
func (g *Gate) Enter(ctx context.Context, namespace string) (leave func(), err error) {
	c := &caller{namespace: namespace, urgent: urgent(ctx), before: WaitedFor(ctx), waits: waitsOf(ctx), since: time.Now(), admitted: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, c)
	c.waits.begin()
	g.admit()
	g.mu.Unlock()
	defer c.waits.end()
	select {
	case <-c.admitted:
		return func() { g.leave(namespace) }, nil
	default:
	}
	defer Leave(ctx)()
	select {
	case <-c.admitted:
		return func() { g.leave(namespace) }, nil
	case <-ctx.Done():
		g.giveUp(c)
		return nil, context.Cause(ctx)
	}
}

// Why returns why callers of a namespace wait, and None if a slot is free for them.
func (g *Gate) Why(namespace string) Reason {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.full(namespace):
		return OwnShare
	case g.inside >= g.slots:
		return AllInUse
	}
	return None
}

// Crowds returns whether a namespace holds a slot for which others wait. Those that wait for their own share need no slot of others.
func (g *Gate) Crowds(namespace string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.order.Held(namespace) > 0 && slices.ContainsFunc(g.waiting, func(c *caller) bool { return c.namespace != namespace && !g.full(c.namespace) })
}

func (g *Gate) full(namespace string) bool {
	return g.order.Held(namespace) >= int64(Share(g.slots))
}

// admit needs g.mu.
func (g *Gate) admit() {
	for g.inside < g.slots {
		next := g.next(func(c *caller) bool { return c.urgent != g.others })
		if next == nil {
			next = g.next(func(*caller) bool { return true })
		}
		if next == nil {
			return
		}
		g.waiting = slices.DeleteFunc(g.waiting, func(c *caller) bool { return c == next })
		g.others = next.urgent && g.next(func(c *caller) bool { return !c.urgent }) != nil
		g.inside++
		g.order.Take(next.namespace, 1)
		close(next.admitted)
	}
}

// next returns the caller whose turn it is among some of those that wait, and nil if there is none.
func (g *Gate) next(among func(*caller) bool) (next *caller) {
	for _, c := range g.waiting {
		if among(c) && !g.full(c.namespace) && (next == nil || g.order.Compare(c.namespace, next.namespace) < 0) {
			next = c
		}
	}
	return next
}

func (g *Gate) leave(namespace string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.order.Return(namespace, 1)
	for _, c := range g.waiting {
		if c.namespace == namespace { // it has waited for its own namespace
			c.since = time.Now()
			c.waits.begin()
		}
	}
	g.admit()
}

// giveUp removes a caller whose context has ended. If it was admitted before that, it returns the slot.
func (g *Gate) giveUp(c *caller) {
	g.mu.Lock()
	before := len(g.waiting)
	g.waiting = slices.DeleteFunc(g.waiting, func(w *caller) bool { return w == c })
	waited := len(g.waiting) < before
	g.mu.Unlock()
	if !waited {
		g.leave(c.namespace)
	}
}

// ended are the attempts of each namespace that a gate has ended in a row.
type ended struct {
	mu sync.Mutex
	of map[string]ends
}

// before returns the attempts of a namespace that were ended in a row.
func (e *ended) before(namespace string) ends {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.of[namespace]
	before.by = maps.Clone(before.by)
	return before
}

// record records that work of a namespace was ended, and for which namespace if its caller was urgent. It drops the records that are too old.
func (e *ended) record(namespace string, bytes int64, urgent string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of == nil {
		e.of = map[string]ends{}
	}
	maps.DeleteFunc(e.of, func(_ string, of ends) bool { return time.Since(of.last) > endsKept })
	now := e.of[namespace]
	now.count, now.bytes, now.last = now.count+1, max(now.bytes, bytes), time.Now()
	if urgent != "" {
		if now.by == nil {
			now.by = map[string]int{}
		}
		now.by[urgent]++
	}
	e.of[namespace] = now
}

// forget drops the record of a namespace whose work has succeeded. It keeps that of larger work, which is to come yet.
func (e *ended) forget(namespace string, bytes int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if bytes >= e.of[namespace].bytes {
		delete(e.of, namespace)
	}
}
