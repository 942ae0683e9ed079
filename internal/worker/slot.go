package worker

import (
	"context"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// slot is the slot of a running job, see turns.Slot.
type slot[T any] struct {
	pool *Pool[T]
	job  *ticket
}

// elsewhere measures for how long a job waits in other queues.
type elsewhere struct {
	in    int
	since time.Time
	sum   time.Duration
}

func (e *elsewhere) enter() {
	if e.in++; e.in == 1 {
		e.since = time.Now()
	}
}

func (e *elsewhere) leave() {
	if e.in--; e.in == 0 {
		e.sum += time.Since(e.since)
	}
}

// Leave takes the job out of its lane. In a lane without a limit it takes no slot of others.
func (s slot[T]) Leave() {
	p, j := s.pool, s.job
	p.mu.Lock()
	defer p.mu.Unlock()
	_, limited := p.queue.slots.limits[j.claim.Lane]
	j.queues.enter()
	if j.waits++; j.waits > 1 || !limited || j.over {
		return
	}
	p.queue.slots.leave(j)
	if !p.closed {
		p.dispatch()
	}
}

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
