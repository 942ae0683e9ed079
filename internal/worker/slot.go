package worker

import (
	"context"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// Return puts the job back into its lane.
func (s slot[T]) Return(ctx context.Context, wait bool) {
	p, j := s.pool, s.job
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		j.queues.leave()
	}()
	p.mu.Lock()
	if j.waits--; j.waits > 0 || !j.away {
		p.mu.Unlock()
		return
	}
	if !wait || ctx.Err() != nil || p.queue.slots.why(j) == turns.None {
		p.queue.comeBack(j)
		p.mu.Unlock()
		return
	}
	j.back = make(chan struct{})
	p.queue.returning = append(p.queue.returning, j)
	p.mu.Unlock()
	select {
	case <-j.back:
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		p.queue.comeBack(j)
	}
}
