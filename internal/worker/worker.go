// Package worker runs what takes longer than a reconcile may: one job for each object, at most so many at once,
// each ended with its object or with the process. A finished job makes its object be reconciled again, and its
// result stays until it is forgotten, so that a status that could not be written costs no second run.
package worker

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Key names the object that a job is for. A second object of the same name has another UID.
type Key struct {
	Object types.NamespacedName
	UID    types.UID
}

// Pool runs jobs that yield a T. Add its Run to the manager, as a manager.RunnableFunc, and watch its Source.
type Pool[T any] struct {
	slots chan struct{}
	ended sync.WaitGroup

	mu     sync.Mutex
	closed bool
	jobs   map[Key]*job[T]
	notify func(Key)
}

type job[T any] struct {
	cancel context.CancelFunc
	done   bool
	value  T
	err    error
}

// PanicError is the error of a job that panicked.
type PanicError struct {
	Value any
	Stack []byte
}

func (p *PanicError) Error() string { return fmt.Sprintf("internal error: panic: %v", p.Value) }

// New makes a pool that runs at most limit jobs at once; more of them wait their turn.
func New[T any](limit int) *Pool[T] {
	return &Pool[T]{
		slots:  make(chan struct{}, max(limit, 1)),
		jobs:   map[Key]*job[T]{},
		notify: func(Key) {},
	}
}

// Start begins a job. It says false and does nothing where key has a job already, running or finished, or where
// the pool has ended. The context of run ends with Forget, ForgetOthers and the manager.
func (p *Pool[T]) Start(key Key, run func(context.Context) (T, error)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.jobs[key] != nil {
		return false
	}
	ctx, cancel := context.WithCancel(context.Background())
	started := &job[T]{cancel: cancel}
	p.jobs[key] = started
	p.ended.Go(func() {
		defer cancel()
		value, err := p.turn(ctx, run)
		p.finish(key, started, value, err)
	})
	return true
}

// Running says whether key has a job that runs or waits its turn.
func (p *Pool[T]) Running(key Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.jobs[key]
	return found != nil && !found.done
}

// Result is what the finished job of key yielded; done is false where there is none. It stays until Forget.
func (p *Pool[T]) Result(key Key) (value T, done bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.jobs[key]
	if found == nil || !found.done {
		return value, false, nil
	}
	return found.value, true, found.err
}

// Forget drops the result of key, and ends its job where it still runs.
func (p *Pool[T]) Forget(key Key) {
	p.forget(func(k Key) bool { return k == key })
}

// ForgetOthers does that for all earlier objects of a name, and with an empty UID for every one of that name.
func (p *Pool[T]) ForgetOthers(object types.NamespacedName, except types.UID) {
	p.forget(func(k Key) bool { return k.Object == object && k.UID != except })
}

// Run is for the manager: it blocks until ctx ends, then ends every job and waits for it.
func (p *Pool[T]) Run(ctx context.Context) error {
	<-ctx.Done()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.forget(func(Key) bool { return true })
	p.ended.Wait()
	return nil
}

// Source makes a controller reconcile an object whose job has finished.
func (p *Pool[T]) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.notify = func(key Key) { queue.Add(reconcile.Request{NamespacedName: key.Object}) }
		return nil
	})
}

func (p *Pool[T]) forget(match func(Key) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, found := range p.jobs {
		if match(key) {
			found.cancel()
			delete(p.jobs, key)
		}
	}
}

// turn waits for a slot and runs the job in it.
func (p *Pool[T]) turn(ctx context.Context, run func(context.Context) (T, error)) (value T, err error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return value, ctx.Err()
	}
	defer func() { <-p.slots }()
	return Try(func() (T, error) { return run(ctx) })
}

// Try calls run and makes its panic an error.
func Try[T any](run func() (T, error)) (value T, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = &PanicError{Value: caught, Stack: debug.Stack()}
		}
	}()
	return run()
}

// finish keeps the result, unless the job was forgotten meanwhile.
func (p *Pool[T]) finish(key Key, ended *job[T], value T, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.jobs[key] != ended {
		return
	}
	ended.done, ended.value, ended.err = true, value, err
	p.notify(key)
}
