package turns

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"
)

// Turn is for how long one piece of work keeps its worker while others wait for one: a minute, and the time for the bytes that it has moved. It is a
// worker.Turn. The zero value is one that has not begun.
type Turn struct {
	allowance atomic.Pointer[Allowance] // nil until it begins
	extended  atomic.Bool
	keeps     atomic.Bool
}

// Once returns the time of all work.
func (t *Turn) Once() time.Duration { return t.time((*Allowance).once) }

// Most returns the time of work that was extended: eight times as much.
func (t *Turn) Most() time.Duration { return min(t.Once(), math.MaxInt64>>doublings) << doublings }

func (t *Turn) time(of func(*Allowance) time.Duration) time.Duration {
	a := t.allowance.Load()
	switch {
	case t.keeps.Load():
		return math.MaxInt64
	case a == nil:
		return timeBase
	}
	return of(a)
}

// Ended returns how often work of the namespace has ended for others in a row.
func (t *Turn) Ended() int {
	if a := t.allowance.Load(); a != nil {
		return a.before.count
	}
	return 0
}

// Extend records that the work was extended.
func (t *Turn) Extend() { t.extended.Store(true) }

// Reach records that so many bytes were moved, if they are more than before.
func (t *Turn) Reach(bytes int64) {
	if a := t.allowance.Load(); a != nil {
		a.reach(bytes)
	}
}

// Keep has the work keep its worker from now on, because it must not end in the middle of what it does next. It returns false if ctx has ended already.
func (t *Turn) Keep(ctx context.Context) bool {
	t.keeps.Store(true)
	return ctx.Err() == nil
}

// Limits remembers which work has ended for others. The zero value is ready to use.
type Limits struct{ ended ended }

// Run runs work in its turn. It counts the work of a namespace that has ended with ErrOthersWaited in a row. Work that was extended has had its turn.
func (l *Limits) Run(ctx context.Context, namespace string, t *Turn, work func() error) error {
	before := l.ended.before(namespace)
	a := &Allowance{factor: 1, before: before, began: time.Now()}
	t.allowance.Store(a)
	err := work()
	switch {
	case err == nil:
		l.ended.forget(namespace, a.size())
	case !errors.Is(context.Cause(ctx), ErrOthersWaited):
	case t.extended.Load():
		l.ended.forget(namespace, before.bytes)
	default:
		l.ended.record(namespace, a.size(), "")
	}
	return err
}
