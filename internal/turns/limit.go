package turns

import (
	"context"
	"errors"
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
	// timeMost limits the time of an attempt before it is doubled. Work that gets more bytes while it runs gets no more time than this. With
	// all doublings, honest work has four hours.
	timeMost = 30 * time.Minute
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
	by    map[string]int // how many of them ended for an urgent caller of each namespace
}

func (e ends) factor() time.Duration { return 1 << min(e.count, doublings) }

// Limited runs work in the slot that the caller has entered. bytes is the size of what it works on, as this process has measured it. If the
// work holds the slot for longer than its bytes allow, it ends as soon as another namespace waits for the slot, and the error is
// ErrOthersWaited. All time counts, also that in which the work waits for a server: a tenant may have named that server. The next attempt of the
// namespace may then take twice as long, up to eight times. While an urgent caller waits, work ends after a minute, see Urgent.
func (g *Gate) Limited(ctx context.Context, namespace string, bytes int64, work func(context.Context, *Allowance) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	before := g.ended.before(namespace)
	a := &Allowance{bytes: bytes, urgent: urgent(ctx), factor: before.factor(), before: before, began: time.Now()}
	go panics.Caught(func() { g.watch(ctx, end, namespace, a) }, end)()
	err := work(ctx, a)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, ErrOthersWaited) {
		g.ended.record(namespace, a.size(), a.endedFor())
		return cause // whatever an ended process has reported
	}
	if err == nil {
		g.ended.forget(namespace, a.size())
	}
	return err
}

// watch ends work that has used up its time, but only while others wait for its slot.
func (g *Gate) watch(ctx context.Context, end context.CancelCauseFunc, namespace string, a *Allowance) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(min(a.left(), a.leftForUrgent()), time.Second)):
		}
		if why := g.why(namespace, a); why != nil {
			end(why)
			return
		}
	}
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

// Allowance is for how long work may hold its slot while others wait.
type Allowance struct {
	urgent bool
	factor time.Duration // by how much its time is longer, because earlier attempts were ended
	before ends
	began  time.Time

	mu    sync.Mutex
	bytes int64
	by    string
}

// endFor records for the urgent caller of which namespace the work ends.
func (a *Allowance) endFor(namespace string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.by = namespace
}

func (a *Allowance) endedFor() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.by
}

// Add records more bytes that were worked on, and so allows more time.
func (a *Allowance) Add(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bytes += bytes
}

// reach records that so many bytes were worked on, if they are more than before.
func (a *Allowance) reach(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bytes = max(a.bytes, bytes)
}

func (a *Allowance) size() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bytes
}

func (a *Allowance) most() time.Duration { return a.factor * a.once() }

// once returns the time of an attempt before it is doubled.
func (a *Allowance) once() time.Duration {
	return min(timeBase+time.Duration(a.size()/timeRate)*time.Second, timeMost)
}

// left returns how much of that time is left.
func (a *Allowance) left() time.Duration { return a.most() - time.Since(a.began) }
