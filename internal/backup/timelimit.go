package backup

import (
	"context"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/pace"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// timeLimit ends an attempt after a time limit. The time does not count in which the attempt waits for other attempts.
type timeLimit struct {
	mu     sync.Mutex
	timer  *time.Timer
	left   time.Duration
	since  time.Time
	pauses int
}

// withTimeLimit returns a context whose cause is context.DeadlineExceeded once the limit is used up, and pace.ErrTooSlow if a transfer
// hardly moves. Others may wait for the end of the attempt if crowds returns true.
func withTimeLimit(ctx context.Context, limit time.Duration, crowds func() bool) (context.Context, *timeLimit, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	ctx = pace.With(ctx, end, crowds)
	d := &timeLimit{left: limit, since: time.Now()}
	d.timer = time.AfterFunc(limit, func() { end(context.DeadlineExceeded) })
	return ctx, d, func() { d.timer.Stop(); end(context.Canceled) }
}

// pause stops the time until resume is called. Pauses may be nested.
func (d *timeLimit) pause() (resume func()) {
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

func (d *timeLimit) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pauses--; d.pauses == 0 {
		d.since = time.Now()
		d.timer.Reset(max(d.left, 0))
	}
}

// waiting shows that the attempt waits and why, and pauses its time limit until done is called.
func (t *jobProgress) waiting(stage string, why func() turns.Reason) (done func()) {
	t.mu.Lock()
	t.progress, t.since, t.why = Progress{Stage: stage}, time.Now(), why
	t.mu.Unlock()
	resume := t.limit.pause()
	return func() {
		t.mu.Lock()
		t.why = nil
		t.mu.Unlock()
		resume()
	}
}
