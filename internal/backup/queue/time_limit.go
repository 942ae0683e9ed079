package queue

import (
	"context"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/pace"
)

// TimeLimit ends an attempt after a time limit. The time does not count in which the attempt waits for other attempts.
type TimeLimit struct {
	mu     sync.Mutex
	timer  *time.Timer
	left   time.Duration
	since  time.Time
	pauses int
}

// WithTimeLimit returns a context whose cause is context.DeadlineExceeded once the limit is used up, and pace.ErrTooSlow if a transfer
// hardly moves. Others may wait for the end of the attempt if crowds returns true.
func WithTimeLimit(ctx context.Context, limit time.Duration, crowds func() bool) (context.Context, *TimeLimit, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	ctx = pace.With(ctx, end, crowds)
	d := &TimeLimit{left: limit, since: time.Now()}
	d.timer = time.AfterFunc(limit, func() { end(context.DeadlineExceeded) })
	return ctx, d, func() { d.timer.Stop(); end(context.Canceled) }
}

// pause stops the time until resume is called. Pauses may be nested.
func (d *TimeLimit) pause() (resume func()) {
	if d == nil {
		return func() {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pauses++; d.pauses == 1 {
		d.timer.Stop()
		d.left -= time.Since(d.since)
	}
	return d.resume
}

func (d *TimeLimit) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pauses--; d.pauses == 0 {
		d.since = time.Now()
		d.timer.Reset(max(d.left, 0))
	}
}
