package turns

import (
	"context"
	"sync"
	"time"
)

type urgentKey struct{}

// waitTime is for how long urgent work has waited for other namespaces.
type waitTime struct {
	mu    sync.Mutex
	sum   time.Duration
	since time.Time // when the present wait in a Gate began; zero if there is none
}

func urgent(ctx context.Context) bool { return ctx.Value(urgentKey{}) != nil }

func waitsOf(ctx context.Context) *waitTime {
	w, _ := ctx.Value(urgentKey{}).(*waitTime)
	return w
}

// begin begins the present wait, or begins it again. It does nothing for nil, as the other methods.
func (w *waitTime) begin() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Now()
}

// end ends the present wait.
func (w *waitTime) end() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.since.IsZero() {
		w.sum, w.since = w.sum+time.Since(w.since), time.Time{}
	}
}

// WaitedFor returns the sum of these times, with the present one.
func WaitedFor(ctx context.Context) time.Duration {
	w := waitsOf(ctx)
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() {
		return w.sum
	}
	return w.sum + time.Since(w.since)
}
