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
	// Finished leaves a one-shot alone that has ended, one way (Complete) or the other.
	Finished struct{ Complete bool }
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
	// Scheduled waits until the next snapshot of the series is due.
	Scheduled struct{ At time.Time }
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

// Requeue of each step. A finished attempt wakes its EtcdBackup by itself.
func (Idle) Requeue(time.Time) time.Duration            { return 0 }
func (RemoveFinalizer) Requeue(time.Time) time.Duration { return atOnce }
func (Cancel) Requeue(time.Time) time.Duration          { return atOnce }
func (Report) Requeue(time.Time) time.Duration          { return atOnce }
func (Watch) Requeue(time.Time) time.Duration           { return progressPeriod }
func (Refuse) Requeue(time.Time) time.Duration          { return 0 }
func (Finished) Requeue(time.Time) time.Duration        { return 0 }
func (s Wait) Requeue(time.Time) time.Duration          { return s.Again }
func (s Backoff) Requeue(now time.Time) time.Duration   { return max(s.At.Sub(now), atOnce) }
func (s Scheduled) Requeue(now time.Time) time.Duration { return max(s.At.Sub(now), atOnce) }
func (TakeSnapshot) Requeue(time.Time) time.Duration    { return progressPeriod }
