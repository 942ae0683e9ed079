// Package worker runs jobs that take too long for a reconcile. Each object has at most one job, and a limit applies to
// concurrent jobs. A job is cancelled if its object is deleted or the process ends. When a job finishes, its object is
// reconciled again. The result is kept until Forget is called, so that the job is not repeated if the status could not be
// written.
package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/turns"
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
	// Namespace limits the jobs of one namespace in the lane. 0 means turns.Share of the lane's limit.
	Namespace int
	// Groups limit how many jobs of the lane with the same group run concurrently, for example to one bucket. One namespace gets
	// turns.Share of that limit.
	Groups map[string]int
	// Patience is after how long a running job loses its slot to a waiting job of another namespace, and runs on without one. 0 means never.
	Patience time.Duration
	// Turn limits a running job while a job of another namespace waits, and as many run without a slot as may. Then the context of one such job ends with the
	// cause turns.ErrOthersWaited. If it is nil, the job continues. It needs Patience.
	Turn Turn
}

// Turn is for how long a job may run while others wait. The time does not count in which it waits elsewhere. Its methods must not call the pool.
type Turn interface {
	// Once is the time that each job has, and Most the time of a job that is extended.
	Once() time.Duration
	Most() time.Duration
	// Ended is how often jobs of the namespace have ended for others in a row.
	Ended() int
	// Extend is called when the job is extended. As many are extended as the lane has slots, one of each namespace. Those come first that have ended most
	// often.
	Extend()
}

// Pool runs jobs with results of type T. Namespaces take turns in each lane, see turns.Order, and one namespace leaves a slot to others.
// The jobs of one namespace start in the order of their calls of Start, except those whose group is at its limit. Add Run to the manager
// as a manager.RunnableFunc, and watch Source.
type Pool[T any] struct {
	ended sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	lanes   map[string]int // the limit of each
	jobs    map[Key]*job[T]
	waiting []*job[T]
	running map[string]int          // by lane, and by lane and group
	turns   map[string]*turns.Order // by lane
	// away counts the jobs that wait elsewhere, by lane and namespace. moved counts those that Move has moved, by namespace. returning are jobs that wait
	// for a slot again.
	away      map[string]int
	moved     map[string]int
	returning []*job[T]
	active    map[*job[T]]bool // jobs that have begun and not returned
	beyond    map[string]int   // by lane: jobs that run without a slot, see Claim.Patience
	busy      map[Key]bool     // keys whose job has not returned yet, also a forgotten one
	notify    func(Key)
}

type job[T any] struct {
	key    Key
	claim  Claim
	run    func(context.Context) (T, error)
	ctx    context.Context //nolint:containedctx // the job owns it
	cancel context.CancelCauseFunc
	queued bool // it could not start at once
	began  bool
	done   bool
	over   bool          // it has returned, also if it was forgotten
	away   bool          // it has left its lane while it waits elsewhere
	waits  int           // for how much it waits
	moved  bool          // Move has moved it
	since  time.Time     // when it began
	timer  *time.Timer   // set if its claim has a patience
	beyond bool          // it runs without a slot, because its patience is over
	back   chan struct{} // closed when it is back in its lane
	ends   bool          // it has to end: for others, or because it was forgotten
	longer bool          // it is extended, see Turn
	queues elsewhere     // in which it waits
	value  T
	err    error
}

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

// orderOf returns the turns of the namespaces in the lane of a job.
func (p *Pool[T]) orderOf(j *job[T]) *turns.Order {
	if p.turns[j.claim.Lane] == nil {
		p.turns[j.claim.Lane] = &turns.Order{}
	}
	return p.turns[j.claim.Lane]
}

func (p *Pool[T]) free(j *job[T]) bool { return !p.busy[j.key] && p.why(j) == turns.None }

// why returns why a job has no slot.
func (p *Pool[T]) why(j *job[T]) turns.Reason {
	lane := j.claim.Lane
	slots := max(p.lanes[lane], 1)
	each := j.claim.Namespace
	if each < 1 {
		each = turns.Share(slots)
	}
	if p.holds(j) >= each || !j.began && p.moved[j.key.Object.Namespace] >= maxMoved {
		return turns.OwnShare
	}
	for group, limit := range j.claim.Groups {
		if p.running[inGroup(j, group)+j.key.Object.Namespace] >= turns.Share(limit) {
			return turns.OwnShare
		}
		if p.running[inGroup(j, group)] >= max(limit, 1) {
			return turns.Bucket
		}
	}
	if p.running[lane] >= slots {
		return turns.AllInUse
	}
	return turns.None
}

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

// count adds a running job, or removes it with -1.
func (p *Pool[T]) count(j *job[T], n int) {
	if n > 0 {
		p.orderOf(j).Take(j.key.Object.Namespace, int64(n))
	} else {
		p.orderOf(j).Return(j.key.Object.Namespace, int64(-n))
	}
	p.running[j.claim.Lane] += n
	for group := range j.claim.Groups {
		for _, name := range []string{inGroup(j, group), inGroup(j, group) + j.key.Object.Namespace} {
			if p.running[name] += n; p.running[name] == 0 {
				delete(p.running, name)
			}
		}
	}
}

// inGroup is the name in running for a group of the lane. With a namespace behind it, it is the name for the jobs of that namespace.
func inGroup[T any](j *job[T], group string) string { return j.claim.Lane + "\x00" + group + "\x00" }

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
