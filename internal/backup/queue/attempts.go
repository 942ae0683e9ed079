// Package queue decides which attempt runs when: workers, slots of restore tests, space in the spool, and time limits.
package queue

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// errFailed stands for the failure of a result.
var errFailed = errors.New("the attempt failed")

// Attempts holds the attempts of this process: a pool of workers, and the progress of each attempt.
type Attempts struct {
	Pool *worker.Pool[state.Result]
	// turns remembers which attempts have ended for others.
	turns turns.Limits

	mu    sync.Mutex
	known map[worker.Key]*Progress
}

// NewAttempts returns a pool with that many workers in each lane.
func NewAttempts(lanes map[string]int) *Attempts {
	return &Attempts{Pool: worker.NewLanes[state.Result](lanes), known: map[worker.Key]*Progress{}}
}

// Start queues an attempt, unless one exists already.
func (a *Attempts) Start(key worker.Key, claim worker.Claim, t *Progress, run func(context.Context, *Progress) state.Result) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	t.leave = func() { a.Pool.Move(key, LaneVerify) }
	if claim.Lane == LaneSnapshot || claim.Lane == LaneCopy { // the others do more than to move bytes
		claim.Turn = &t.turn
	}
	started := a.Pool.StartIn(key, claim, func(ctx context.Context) (result state.Result, _ error) {
		_ = a.turns.Run(ctx, key.Object.Namespace, &t.turn, func() error {
			if result = run(ctx, t); result.Failure != nil {
				return errFailed
			}
			return nil
		})
		return result, nil
	})
	if started {
		a.known[key] = t
	}
	return started
}

// Find returns the attempt of key, and nil if there is none.
func (a *Attempts) Find(key worker.Key) *state.Attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.known[key]
	if t == nil {
		return nil
	}
	found := &state.Attempt{Kind: t.Kind, Request: t.Request, Base: t.Base, Generation: t.Generation, Number: t.Number, StartedAt: t.began(), Queued: a.Pool.Waiting(key), Progress: t.now()}
	if found.Queued {
		found.Progress.Why = a.Pool.WhyWaiting(key)
	}
	result, done, err := a.Pool.Result(key)
	switch {
	case done && err != nil:
		result.EndedAt, result.Failure = found.StartedAt, failure.Classify(err, state.JobSpec{}, false)
		fallthrough
	case done:
		found.Result = &result
	case !a.Pool.Running(key): // it ended with the manager
		return nil
	}
	return found
}

// Forget stops the attempt of key, or drops its result.
func (a *Attempts) Forget(key worker.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Pool.Forget(key)
	delete(a.known, key)
}

// ForgetOthers does the same for other objects of that name: all of them if except is empty.
func (a *Attempts) ForgetOthers(object types.NamespacedName, except types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Pool.ForgetOthers(object, except)
	for key := range a.known {
		if key.Object == object && key.UID != except {
			delete(a.known, key)
		}
	}
}
