package worker

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// slot is the slot of a running job, see turns.Slot.
type slot[T any] struct {
	pool *Pool[T]
	job  *job[T]
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

// orderOf returns the turns of the namespaces in the lane of a job.
func (p *Pool[T]) orderOf(j *job[T]) *turns.Order {
	if p.turns[j.claim.Lane] == nil {
		p.turns[j.claim.Lane] = &turns.Order{}
	}
	return p.turns[j.claim.Lane]
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
