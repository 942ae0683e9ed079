package turns

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// ErrOthersWaited is why a Gate ends work that takes too long. It is no result of the work: the caller tries again later.
var ErrOthersWaited = errors.New("other namespaces waited for their turn")

const (
	// timeBase and timeRate limit work while other namespaces wait: a minute, and the time for its bytes at 4 MiB a second. A usual disk and
	// processor check 100 MiB a second.
	timeBase = time.Minute
	timeRate = 4 << 20
	// doublings is how often the time of a namespace is doubled after its work was ended, so that honest work on a slow node succeeds later.
	doublings = 3
	// endsKept is for how long a gate remembers that it has ended work.
	endsKept = 24 * time.Hour
)

// ended are the attempts of each namespace that a gate has ended in a row.
type ended struct {
	mu sync.Mutex
	of map[string]ends
}

type ends struct {
	count int
	bytes int64 // of the largest of them
	last  time.Time
}

// Limited runs work in the slot that the caller has entered. bytes is the size of what it works on, as this process has measured it. If the
// work computes for longer than its bytes allow, it ends as soon as another namespace waits for the slot, and the error is
// ErrOthersWaited. The next attempt of the namespace may then compute for twice as long, up to eight times.
func (g *Gate) Limited(ctx context.Context, namespace string, bytes int64, work func(context.Context, *Computing) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	c := &Computing{bytes: bytes, factor: g.ended.factor(namespace), since: time.Now()}
	go panics.Caught(func() { g.watch(ctx, end, namespace, c) }, end)()
	err := work(ctx, c)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrOthersWaited) {
		g.ended.record(namespace, c.size())
		return cause // whatever an ended process has reported
	}
	if err == nil {
		g.ended.forget(namespace, c.size())
	}
	return err
}

// watch ends work that has used up its time, but only while another namespace waits for its slot.
func (g *Gate) watch(ctx context.Context, end context.CancelCauseFunc, namespace string, c *Computing) {
	for wait := c.left(); ; wait = c.left() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(wait, time.Second)):
		}
		if c.left() <= 0 && g.Crowds(namespace) {
			end(fmt.Errorf("%w, and this took longer than %s for %d MiB", ErrOthersWaited, c.most(), c.size()>>20))
			return
		}
	}
}

// factor returns by how much the time of a namespace is longer, because earlier attempts were ended.
func (e *ended) factor(namespace string) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return 1 << min(e.of[namespace].count, doublings)
}

// record records that work of a namespace was ended. It drops the records that are too old.
func (e *ended) record(namespace string, bytes int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of == nil {
		e.of = map[string]ends{}
	}
	maps.DeleteFunc(e.of, func(_ string, of ends) bool { return time.Since(of.last) > endsKept })
	before := e.of[namespace]
	e.of[namespace] = ends{count: before.count + 1, bytes: max(before.bytes, bytes), last: time.Now()}
}

// forget drops the record of a namespace whose work has succeeded. It keeps that of larger work, which is to come yet.
func (e *ended) forget(namespace string, bytes int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if bytes >= e.of[namespace].bytes {
		delete(e.of, namespace)
	}
}

// Computing measures work that runs in a slot.
type Computing struct {
	factor time.Duration

	mu    sync.Mutex
	bytes int64
	used  time.Duration // before since
	since time.Time     // when it began, or continued
	waits int
}

// Add records more bytes that were worked on, and so allows more time.
func (c *Computing) Add(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += bytes
}

// Waits stops the time until done is called, for example while the work reads from a server. Waits may be nested.
func (c *Computing) Waits() (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits++; c.waits == 1 {
		c.used += time.Since(c.since)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.waits--; c.waits == 0 {
			c.since = time.Now()
		}
	}
}

func (c *Computing) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// most returns for how long the work may compute while others wait.
func (c *Computing) most() time.Duration {
	return c.factor * (timeBase + time.Duration(c.size()/timeRate)*time.Second)
}

// left returns how much of that time is left.
func (c *Computing) left() time.Duration {
	most := c.most()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits > 0 {
		return most - c.used
	}
	return most - c.used - time.Since(c.since)
}
