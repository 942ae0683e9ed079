// Package worker runs jobs that take too long for a reconcile. Each object has at most one job, and a limit applies to
// concurrent jobs. A job is cancelled if its object is deleted or the process ends. When a job finishes, its object is
// reconciled again. The result is kept until Forget is called, so that the job is not repeated if the status could not be
// written.
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

// Key identifies the object of a job. A recreated object with the same name has another UID.
type Key struct {
	Object types.NamespacedName
	UID    types.UID
}

// Pool runs jobs with results of type T. Add Run to the manager as a manager.RunnableFunc, and watch Source.
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

// New creates a pool that runs at most limit jobs concurrently. Other jobs wait.
func New[T any](limit int) *Pool[T] {
	return &Pool[T]{
		slots:  make(chan struct{}, max(limit, 1)),
		jobs:   map[Key]*job[T]{},
		notify: func(Key) {},
	}
}

// Start starts a job. It does nothing and returns false if key has a job already, running or finished, or if the pool has
// ended. Forget, ForgetOthers and the end of the manager cancel the context of run.
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

// Running reports whether key has a job that is running or waiting.
func (p *Pool[T]) Running(key Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.jobs[key]
	return found != nil && !found.done
}

// Result returns the result of the finished job of key. done is false if there is none. The result is kept until Forget.
func (p *Pool[T]) Result(key Key) (value T, done bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.jobs[key]
	if found == nil || !found.done {
		return value, false, nil
	}
	return found.value, true, found.err
}

// Forget cancels the job of key if it is still running, and deletes its result.
func (p *Pool[T]) Forget(key Key) {
	p.forget(func(k Key) bool { return k == key })
}

// ForgetOthers calls Forget for all objects of this name whose UID is not except. With an empty except it applies to all.
func (p *Pool[T]) ForgetOthers(object types.NamespacedName, except types.UID) {
	p.forget(func(k Key) bool { return k.Object == object && k.UID != except })
}

// Run blocks until ctx ends, then cancels all jobs and waits for them. The manager calls it.
func (p *Pool[T]) Run(ctx context.Context) error {
	<-ctx.Done()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.forget(func(Key) bool { return true })
	p.ended.Wait()
	return nil
}

// Source makes a controller reconcile each object whose job has finished.
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

// turn waits for a free slot and runs the job.
func (p *Pool[T]) turn(ctx context.Context, run func(context.Context) (T, error)) (value T, err error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return value, ctx.Err()
	}
	defer func() { <-p.slots }()
	return Try(func() (T, error) { return run(ctx) })
}

// Try calls run and turns a panic into a PanicError.
func Try[T any](run func() (T, error)) (value T, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = &PanicError{Value: caught, Stack: debug.Stack()}
		}
	}()
	return run()
}

// finish stores the result, unless Forget was called meanwhile.
func (p *Pool[T]) finish(key Key, ended *job[T], value T, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.jobs[key] != ended {
		return
	}
	ended.done, ended.value, ended.err = true, value, err
	p.notify(key)
}
