package worker

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
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

	mu     sync.Mutex
	closed bool
	jobs   map[Key]*job[T]
	queue  scheduler
	notify func(Key)
}

// job is what the pool runs, and its result.
type job[T any] struct {
	ticket
	run   func(context.Context) (T, error)
	done  bool
	value T
	err   error
}

// ticket is what the scheduler knows of a job.
type ticket struct {
	key    Key
	claim  Claim
	ctx    context.Context //nolint:containedctx // the job owns it
	cancel context.CancelCauseFunc
	queued bool // it could not start at once
	began  bool
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
}
