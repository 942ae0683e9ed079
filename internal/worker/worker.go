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
	return &Pool[T]{
		lanes: lanes, jobs: map[Key]*job[T]{}, running: map[string]int{}, turns: map[string]*turns.Order{},
		away: map[string]int{}, moved: map[string]int{}, beyond: map[string]int{}, active: map[*job[T]]bool{}, busy: map[Key]bool{}, notify: func(Key) {},
	}
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
	created := &job[T]{key: key, claim: claim, run: run, ctx: ctx, cancel: cancel}
	p.jobs[key] = created
	p.waiting = append(p.waiting, created)
	p.dispatch()
	created.queued = slices.Contains(p.waiting, created)
	return true
}

// dispatch starts the waiting jobs for which there is a slot.
func (p *Pool[T]) dispatch() {
	p.takeBack()
	for {
		next := p.next()
		if next == nil && p.makeRoom() {
			continue
		}
		if next == nil {
			p.endForOthers()
			return
		}
		p.waiting = slices.DeleteFunc(p.waiting, func(j *job[T]) bool { return j == next })
		p.launch(next)
	}
}

// next returns the waiting job that starts next, and nil if there is no slot for any. Lanes do not compete, so it is of the first lane that
// has a slot.
func (p *Pool[T]) next() (next *job[T]) {
	for _, j := range p.waiting {
		if (next == nil || p.before(j, next)) && p.free(j) {
			next = j
		}
	}
	return next
}

// before returns whether it is the turn of job a before that of job b of the same lane.
func (p *Pool[T]) before(a, b *job[T]) bool {
	return a.claim.Lane == b.claim.Lane && p.orderOf(a).Compare(a.key.Object.Namespace, b.key.Object.Namespace) < 0
}

func (p *Pool[T]) free(j *job[T]) bool { return !p.busy[j.key] && p.why(j) == turns.None }

func (p *Pool[T]) launch(j *job[T]) {
	p.count(j, 1)
	p.busy[j.key], p.active[j], j.began = true, true, true
	p.expect(j)
	if j.queued {
		p.notify(j.key)
	}
	p.ended.Go(func() {
		defer j.cancel(nil)
		value, err := panics.Try(func() (T, error) { return j.run(turns.WithSlot(j.ctx, slot[T]{p, j})) })
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
	if found.away {
		p.stay(found)
		p.letRun(found)
	} else {
		p.count(found, -1)
	}
	if !found.moved {
		found.moved = true
		p.moved[key.Object.Namespace]++
	}
	if found.timer != nil {
		found.timer.Stop()
	}
	found.claim = Claim{Lane: lane}
	p.count(found, 1)
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
	p.waiting = slices.DeleteFunc(p.waiting, func(j *job[T]) bool { return p.jobs[j.key] != j })
}

// finish stores the result, unless Forget was called meanwhile, and starts the next job.
func (p *Pool[T]) finish(ended *job[T], value T, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended.over = true
	delete(p.active, ended)
	if ended.timer != nil {
		ended.timer.Stop()
	}
	if ended.away {
		p.stay(ended)
	} else {
		p.count(ended, -1)
	}
	if ended.moved {
		if p.moved[ended.key.Object.Namespace]--; p.moved[ended.key.Object.Namespace] == 0 {
			delete(p.moved, ended.key.Object.Namespace)
		}
	}
	delete(p.busy, ended.key)
	if p.jobs[ended.key] == ended {
		ended.done, ended.value, ended.err, ended.run = true, value, err, nil
		p.notify(ended.key)
	}
	if !p.closed {
		p.dispatch()
	}
}

// expect lets the pool look again when the patience of a running job is over. It needs p.mu.
func (p *Pool[T]) expect(j *job[T]) {
	j.since = time.Now()
	if j.claim.Patience > 0 {
		j.timer = time.AfterFunc(j.claim.Patience, func() { p.lookAgain(j) })
	}
}

func (p *Pool[T]) lookAgain(j *job[T]) {
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
	_, limited := p.lanes[j.claim.Lane]
	j.queues.enter()
	if j.waits++; j.waits > 1 || !limited || j.over {
		return
	}
	p.leave(j)
	if !p.closed {
		p.dispatch()
	}
}
