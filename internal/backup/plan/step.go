package plan

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

const (
	// progressInterval is how often the status shows the progress of an attempt.
	progressInterval = 5 * time.Second
	// secretInterval is how often the operator looks for a missing Secret. It has no right to watch Secrets.
	secretInterval = 10 * time.Second
	// AtOnce requeues without a pause.
	AtOnce = time.Millisecond
	// longestSleep limits every requeue, because a timer does not follow a clock that is set.
	longestSleep = time.Hour
)

// Step is one effect, which describes itself. Steps are small structs, so that a test compares what Plan returns.
//
//sumtype:decl
type Step interface {
	// describe returns what users and the queue are told about the step in that State.
	describe(s state.State) planning.Description
}

// sleep returns how long it is until the first of the times. It ignores zero times, and returns 0 if there is no other.
func sleep(now time.Time, times ...time.Time) time.Duration {
	wait := time.Duration(0)
	for _, at := range times {
		if left := min(max(at.Sub(now), AtOnce), longestSleep); !at.IsZero() && (wait == 0 || left < wait) {
			wait = left
		}
	}
	return wait
}
