package worker

import (
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
