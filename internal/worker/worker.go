// Package worker runs jobs that take too long for a reconcile. Each object has at most one job, and a limit applies to
// concurrent jobs. A job is cancelled if its object is deleted or the process ends. When a job finishes, its object is
// reconciled again. The result is kept until Forget is called, so that the job is not repeated if the status could not be
// written.
package worker

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
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

// Claim names the limits that apply to a job.
type Claim struct {
	// Lane has slots of its own, so that jobs of one kind do not delay those of another.
	Lane string
	// Groups limit how many jobs of the lane with the same group run concurrently.
	Groups map[string]int
}

// Pool runs jobs with results of type T. Namespaces take turns: of the jobs that have to wait, the next one is of the namespace
// with the fewest running jobs in the lane, and of several such namespaces of the one that waits longest for a start. The jobs
// of one namespace start in the order of their calls of Start, except those whose group is at its limit. Add Run to the manager
// as a manager.RunnableFunc, and watch Source.
type Pool[T any] struct {
	ended sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	lanes   map[string]int // the limit of each
	jobs    map[Key]*job[T]
	waiting []*job[T]
	running map[string]int // by lane, and by lane and group
	turns   map[string]int // by lane and namespace: the number of its last start
	starts  int
	busy    map[Key]bool // keys whose job has not returned yet, also a forgotten one
	notify  func(Key)
	// perNamespace limits the jobs of Start; 0 is no limit.
	perNamespace int
}

type job[T any] struct {
	key    Key
	claim  Claim
	run    func(context.Context) (T, error)
	ctx    context.Context //nolint:containedctx // the job owns it
	cancel context.CancelFunc
	queued bool // it could not start at once
	began  bool
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
func New[T any](limit int) *Pool[T] { return NewLanes[T](map[string]int{"": limit}) }

// NewFair creates a pool that runs at most limit jobs concurrently, and one fewer of the same namespace. So the slow jobs of
// one namespace leave a slot to all others.
func NewFair[T any](limit int) *Pool[T] {
	p := New[T](limit)
	p.perNamespace = max(limit-1, 1)
	return p
}

// NewLanes creates a pool with the limit of each lane.
func NewLanes[T any](lanes map[string]int) *Pool[T] {
	return &Pool[T]{
		lanes: lanes, jobs: map[Key]*job[T]{}, running: map[string]int{}, turns: map[string]int{}, busy: map[Key]bool{}, notify: func(Key) {},
	}
}

// Start starts a job. It does nothing and returns false if key has a job already, running or finished, or if the pool has
// ended. Forget, ForgetOthers and the end of the manager cancel the context of run.
func (p *Pool[T]) Start(key Key, run func(context.Context) (T, error)) bool {
	var claim Claim
	if p.perNamespace > 0 {
		claim.Groups = map[string]int{"namespace " + key.Object.Namespace: p.perNamespace}
	}
	return p.StartIn(key, claim, run)
}

// StartIn is Start with the limits of the claim. The job does not start before an earlier job of the key has returned.
func (p *Pool[T]) StartIn(key Key, claim Claim, run func(context.Context) (T, error)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.jobs[key] != nil {
		return false
	}
	ctx, cancel := context.WithCancel(context.Background())
	created := &job[T]{key: key, claim: claim, run: run, ctx: ctx, cancel: cancel}
	p.jobs[key] = created
	p.waiting = append(p.waiting, created)
	p.dispatch()
	created.queued = slices.Contains(p.waiting, created)
	return true
}

// dispatch starts the waiting jobs for which there is a slot.
func (p *Pool[T]) dispatch() {
	for {
		next := p.next()
		if next == nil {
			return
		}
		p.waiting = slices.DeleteFunc(p.waiting, func(j *job[T]) bool { return j == next })
		p.launch(next)
	}
}

// next returns the waiting job that starts next, and nil if there is no slot for any.
func (p *Pool[T]) next() (next *job[T]) {
	for _, j := range p.waiting {
		if (next == nil || p.order(j, next) < 0) && p.free(j) {
			next = j
		}
	}
	return next
}

// order compares two waiting jobs. Those of the same namespace are equal.
func (p *Pool[T]) order(a, b *job[T]) int {
	return cmp.Or(cmp.Compare(p.running[a.turn()], p.running[b.turn()]), cmp.Compare(p.turns[a.turn()], p.turns[b.turn()]))
}

// turn is the lane and the namespace of a job.
func (j *job[T]) turn() string { return j.claim.Lane + "\x00\x00" + j.key.Object.Namespace }

func (p *Pool[T]) free(j *job[T]) bool {
	if p.busy[j.key] || p.running[j.claim.Lane] >= max(p.lanes[j.claim.Lane], 1) {
		return false
	}
	for group, limit := range j.claim.Groups {
		if p.running[j.claim.Lane+"\x00"+group] >= max(limit, 1) {
			return false
		}
	}
	return true
}

func (p *Pool[T]) launch(j *job[T]) {
	p.count(j, 1)
	p.starts++
	p.turns[j.turn()] = p.starts
	p.busy[j.key], j.began = true, true
	if j.queued {
		p.notify(j.key)
	}
	p.ended.Go(func() {
		defer j.cancel()
		value, err := Try(func() (T, error) { return j.run(j.ctx) })
		p.finish(j, value, err)
	})
}

// count adds a running job, or removes it with -1.
func (p *Pool[T]) count(j *job[T], n int) {
	p.running[j.claim.Lane] += n
	names := []string{j.turn()}
	for group := range j.claim.Groups {
		names = append(names, j.claim.Lane+"\x00"+group)
	}
	for _, name := range names {
		if p.running[name] += n; p.running[name] == 0 {
			delete(p.running, name)
		}
	}
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
	p.count(found, -1)
	found.claim = Claim{Lane: lane}
	p.count(found, 1)
	p.dispatch()
}

// Queue returns how many jobs of a lane wait and run.
func (p *Pool[T]) Queue(lane string) (waiting, running int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range p.waiting {
		if j.claim.Lane == lane {
			waiting++
		}
	}
	return waiting, p.running[lane]
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

// Full reports whether a job with this claim would have to wait for a slot.
func (p *Pool[T]) Full(claim Claim) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.free(&job[T]{claim: claim})
}

// Busy reports whether a job of key has not returned yet, also one that Forget has stopped.
func (p *Pool[T]) Busy(key Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.busy[key]
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
	p.waiting = slices.DeleteFunc(p.waiting, func(j *job[T]) bool { return p.jobs[j.key] != j })
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

// finish stores the result, unless Forget was called meanwhile, and starts the next job.
func (p *Pool[T]) finish(ended *job[T], value T, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count(ended, -1)
	delete(p.busy, ended.key)
	if p.jobs[ended.key] == ended {
		ended.done, ended.value, ended.err, ended.run = true, value, err, nil
		p.notify(ended.key)
	}
	if !p.closed {
		p.dispatch()
	}
}
