package backup

import (
	"context"
	"sync"
	"time"
)

// timeLimit ends an attempt after a time limit. The time does not count in which the attempt waits for other attempts.
type timeLimit struct {
	mu     sync.Mutex
	timer  *time.Timer
	left   time.Duration
	since  time.Time
	pauses int
}

// withTimeLimit returns a context whose cause is context.DeadlineExceeded once the limit is used up.
func withTimeLimit(ctx context.Context, limit time.Duration) (context.Context, *timeLimit, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
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

// waiting shows that the attempt waits, and pauses its time limit until done is called.
func (t *jobProgress) waiting(stage string) (done func()) {
	t.stage(stage)
	return t.limit.pause()
}
