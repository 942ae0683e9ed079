package worker

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// Queue returns how many jobs of a lane wait for a slot and run. A job that waits elsewhere does neither.
func (p *Pool[T]) Queue(lane string) (waiting, running int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range slices.Concat(p.queue.waiting, p.queue.returning) {
		if j.claim.Lane == lane {
			waiting++
		}
	}
	return waiting, p.queue.slots.running[lane]
}

// Running reports whether key has a job that is running or waiting.
func (p *Pool[T]) Running(key Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.jobs[key]
	return found != nil && !found.done
}

// Waiting reports whether key has a job that has not begun yet.
func (p *Pool[T]) Waiting(key Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.jobs[key]
	return found != nil && !found.began
}

// Why returns why a job of this key with this claim would have to wait for a slot, and turns.None if it would not.
func (p *Pool[T]) Why(key Key, claim Claim) turns.Reason {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queue.slots.why(&ticket{key: key, claim: claim})
}

// WhyWaiting returns why the waiting job of key waits.
func (p *Pool[T]) WhyWaiting(key Key) turns.Reason {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.jobs[key]
	if found == nil || found.began {
		return turns.None
	}
	return p.queue.slots.why(&found.ticket)
}

// Busy reports whether a job of key has not returned yet, also one that Forget has stopped.
func (p *Pool[T]) Busy(key Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queue.busy[key]
}
