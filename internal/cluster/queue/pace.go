package queue

import (
	"reflect"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

const (

	// FirstRepeat is the pause after a step that was carried out twice in a row. Each further time it doubles, up to repeatsDouble times: 6.4 s.
	FirstRepeat   = 200 * time.Millisecond
	repeatsDouble = 5
)

// Pace is when an EtcdCluster was looked at, and what for.
type Pace struct {
	// changed is when the operator last did something or changed the status.
	changed time.Time
	// Requeue is when the plan asked for the next look in the last pass.
	Requeue time.Duration
	// acted is the step that the last pass carried out, and again how often the passes before it had carried it out in a row.
	acted steps.Step
	again int
}

// Waited is how long nothing has changed for an EtcdCluster.
func (known *Pace) Waited(changed bool, now time.Time) time.Duration {
	if changed || known.changed.IsZero() {
		known.changed = now
	}
	return now.Sub(known.changed)
}

// Nearer returns whether the plan asks for the next look sooner than in the last pass: what an EtcdCluster waits for is near.
func (known *Pace) Nearer(requeue time.Duration) bool {
	last := known.Requeue
	known.Requeue = requeue
	return requeue < last
}

// Repeated returns the pause after a step. It doubles each time that the same step is carried out again: the cache is far behind then, or
// something reverses the step, or keeps an object that is to be deleted.
func (known *Pace) Repeated(step steps.Step, requeue time.Duration) time.Duration {
	switch {
	case !steps.Acts(step):
		known.acted, known.again = nil, 0
		return requeue
	case !reflect.DeepEqual(step, known.acted):
		known.acted, known.again = step, 0
		return requeue
	}
	known.again++
	return max(requeue, FirstRepeat<<min(known.again-1, repeatsDouble))
}
