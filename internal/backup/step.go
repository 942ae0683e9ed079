package backup

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Step is one effect. Steps are small comparable structs, so that a test compares what Plan said.
type Step interface {
	// Reason is one of the API's reasons.
	Reason() string
	// Requeue is how long after the step to look again; 0 leaves it to watches.
	Requeue(now time.Time) time.Duration
}

const (
	// progressPeriod is the pace of progress in the status.
	progressPeriod = 5 * time.Second
	// secretPeriod is the pace of looking for a Secret, which no watch tells of: the operators may not list them.
	secretPeriod = 10 * time.Second
	// at once, but through the queue.
	atOnce = time.Millisecond
)

type (
	// Idle does nothing: the EtcdBackup is being deleted.
	Idle struct{}
	// RemoveFinalizer lets go of an EtcdBackup that coreos/etcd-operator held.
	RemoveFinalizer struct{}
	// Cancel ends the attempt: its spec is no longer the one asked for, or the EtcdBackup is being deleted.
	Cancel struct{}
	// Report tells how the attempt ended.
	Report struct{}
	// Watch shows how far the attempt is.
	Watch struct{}
	// Refuse says that the spec can never work; a person must change it.
	Refuse struct{ Why, Message string }
	// Finished leaves a one-shot alone that has ended, one way (Complete) or the other, until a drill of it is due,
	// or it is to go. Zero times never come.
	Finished struct {
		Complete     bool
		Drill, Until time.Time
	}
	// Hold puts on the finalizer by which the snapshots go before their EtcdBackup.
	Hold struct{}
	// Release takes it off: nothing is to be removed, or that was done, or cannot be done (Left says why).
	Release struct {
		Removed int
		Left    string
	}
	// Purge starts to remove all snapshots that the EtcdBackup wrote.
	Purge struct{ Number int32 }
	// Expire deletes a one-shot whose time is over.
	Expire struct{}
	// Drill starts to read the snapshot of that path back.
	Drill struct {
		Number int32
		Path   string
	}
	// Suspended starts nothing, as the spec says.
	Suspended struct{}
	// Wait says what must happen first, outside of this operator.
	Wait struct {
		Why, Message string
		// Again is how long to wait at most; 0 where a watch will tell.
		Again time.Duration
	}
	// Backoff waits until the attempt after a failed one is due.
	Backoff struct {
		At time.Time
		// Interrupted: the attempt's end was not seen, because the operator was stopped.
		Interrupted bool
	}
	// Scheduled waits until the next snapshot of the series is due, or a drill, which is zero where none ever is.
	Scheduled struct{ At, Drill time.Time }
	// TakeSnapshot starts an attempt.
	TakeSnapshot struct{ Number int32 }
)

// Reason of each step.
func (Idle) Reason() string            { return v1beta2.ReasonPending }
func (RemoveFinalizer) Reason() string { return v1beta2.ReasonPending }
func (Cancel) Reason() string          { return v1beta2.ReasonPending }
func (Report) Reason() string          { return v1beta2.ReasonRunning }
func (Watch) Reason() string           { return v1beta2.ReasonRunning }
func (s Refuse) Reason() string        { return s.Why }
func (Finished) Reason() string        { return v1beta2.ReasonComplete }
func (s Wait) Reason() string          { return s.Why }
func (Backoff) Reason() string         { return v1beta2.ReasonRetrying }
func (Scheduled) Reason() string       { return v1beta2.ReasonScheduled }
func (TakeSnapshot) Reason() string    { return v1beta2.ReasonRunning }
func (Hold) Reason() string            { return v1beta2.ReasonPending }
func (Release) Reason() string         { return v1beta2.ReasonPending }
func (Purge) Reason() string           { return v1beta2.ReasonRemovingSnapshots }
func (Expire) Reason() string          { return v1beta2.ReasonComplete }
func (Drill) Reason() string           { return v1beta2.ReasonVerifying }
func (Suspended) Reason() string       { return v1beta2.ReasonSuspended }

// Requeue of each step. A finished attempt wakes its EtcdBackup by itself.
func (Idle) Requeue(time.Time) time.Duration            { return 0 }
func (RemoveFinalizer) Requeue(time.Time) time.Duration { return atOnce }
func (Cancel) Requeue(time.Time) time.Duration          { return atOnce }
func (Report) Requeue(time.Time) time.Duration          { return atOnce }
func (Watch) Requeue(time.Time) time.Duration           { return progressPeriod }
func (Refuse) Requeue(time.Time) time.Duration          { return 0 }
func (s Finished) Requeue(now time.Time) time.Duration  { return until(now, s.Drill, s.Until) }
func (s Wait) Requeue(time.Time) time.Duration          { return s.Again }
func (s Backoff) Requeue(now time.Time) time.Duration   { return max(s.At.Sub(now), atOnce) }
func (s Scheduled) Requeue(now time.Time) time.Duration { return until(now, s.At, s.Drill) }
func (TakeSnapshot) Requeue(time.Time) time.Duration    { return progressPeriod }
func (Hold) Requeue(time.Time) time.Duration            { return atOnce }
func (Release) Requeue(time.Time) time.Duration         { return atOnce }
func (Purge) Requeue(time.Time) time.Duration           { return progressPeriod }
func (Expire) Requeue(time.Time) time.Duration          { return 0 }
func (Drill) Requeue(time.Time) time.Duration           { return progressPeriod }
func (Suspended) Requeue(time.Time) time.Duration       { return 0 }

// longest sleep: the clock may be set meanwhile, and timers do not follow it.
const longest = time.Hour

// until the first of the times that are not zero, and not much longer than a clock can be trusted.
func until(now time.Time, times ...time.Time) time.Duration {
	wait := time.Duration(0)
	for _, at := range times {
		if left := min(max(at.Sub(now), atOnce), longest); !at.IsZero() && (wait == 0 || left < wait) {
			wait = left
		}
	}
	return wait
}
