package worker

import (
	"context"
	"sync"
)

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

// slot is the slot of a running job, see turns.Slot.
type slot[T any] struct {
	pool *Pool[T]
	job  *ticket
}
