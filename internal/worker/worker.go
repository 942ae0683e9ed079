// Package worker runs jobs that take too long for a reconcile. Each object has at most one job, and a limit applies to
// concurrent jobs. A job is cancelled if its object is deleted or the process ends. When a job finishes, its object is
// reconciled again. The result is kept until Forget is called, so that the job is not repeated if the status could not be
// written.
package worker

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// New creates a pool that runs at most limit jobs concurrently, and one fewer of the same namespace. Other jobs wait.
func New[T any](limit int) *Pool[T] { return NewLanes[T](map[string]int{"": limit}) }

// NewLanes creates a pool with the limit of each lane.
func NewLanes[T any](lanes map[string]int) *Pool[T] {
	return &Pool[T]{jobs: map[Key]*job[T]{}, queue: newScheduler(lanes), notify: func(Key) {}}
}

// Start starts a job. It does nothing and returns false if key has a job already, running or finished, or if the pool has
// ended. Forget, ForgetOthers and the end of the manager cancel the context of run.
func (p *Pool[T]) Start(key Key, run func(context.Context) (T, error)) bool {
	return p.StartIn(key, Claim{}, run)
}

// StartIn is Start with the limits of the claim. The job does not start before an earlier job of the key has returned.
func (p *Pool[T]) StartIn(key Key, claim Claim, run func(context.Context) (T, error)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.jobs[key] != nil {
		return false
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	created := &job[T]{ticket: ticket{key: key, claim: claim, ctx: ctx, cancel: cancel}, run: run}
	p.jobs[key] = created
	p.queue.waiting = append(p.queue.waiting, &created.ticket)
	p.dispatch()
	created.queued = slices.Contains(p.queue.waiting, &created.ticket)
	return true
}

// dispatch starts the waiting jobs for which there is a slot.
func (p *Pool[T]) dispatch() {
	p.queue.takeBack()
	for next := p.queue.start(); next != nil; next = p.queue.start() {
		p.launch(p.jobs[next.key])
	}
}

func (p *Pool[T]) launch(j *job[T]) {
	p.queue.begin(&j.ticket)
	p.expect(&j.ticket)
	if j.queued {
		p.notify(j.key)
	}
	p.ended.Go(func() {
		defer j.cancel(nil)
		value, err := panics.Try(func() (T, error) { return j.run(turns.WithSlot(j.ctx, slot[T]{p, &j.ticket})) })
		p.finish(j, value, err)
	})
}

// Move moves the running job of key to another lane, without its groups, and starts the next jobs that wait for its slot. A
// job calls it before it waits for something that jobs of its lane do not need. The limit of the other lane does not delay
// it.
func (p *Pool[T]) Move(key Key, lane string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.jobs[key]
	if found == nil || !found.began || found.done || p.closed {
		return
	}
	p.queue.move(&found.ticket, lane)
	p.dispatch()
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
			found.cancel(nil)
			found.ends = true
			delete(p.jobs, key)
		}
	}
	p.queue.waiting = slices.DeleteFunc(p.queue.waiting, func(j *ticket) bool { return p.jobs[j.key] == nil || &p.jobs[j.key].ticket != j })
}

// finish stores the result, unless Forget was called meanwhile, and starts the next job.
func (p *Pool[T]) finish(ended *job[T], value T, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.end(&ended.ticket)
	if p.jobs[ended.key] == ended {
		ended.done, ended.value, ended.err, ended.run = true, value, err, nil
		p.notify(ended.key)
	}
	if !p.closed {
		p.dispatch()
	}
}

// expect lets the pool look again when the patience of a running job is over. It needs p.mu.
func (p *Pool[T]) expect(j *ticket) {
	j.since = time.Now()
	if j.claim.Patience > 0 {
		j.timer = time.AfterFunc(j.claim.Patience, func() { p.lookAgain(j) })
	}
}

func (p *Pool[T]) lookAgain(j *ticket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || j.over || j.claim.Patience == 0 { // Move has taken its patience
		return
	}
	p.dispatch()
	again := j.claim.Patience // it may have waited elsewhere, without a slot
	if j.claim.Turn != nil {
		again = min(again, turnEvery)
	}
	j.timer.Reset(again)
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
