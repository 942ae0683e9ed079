package queue

import (
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// Progress is one running attempt. The worker writes its progress, and passes read it.
type Progress struct {
	Kind       state.Kind
	Request    string
	Base       string
	Generation int64
	Number     int32
	Limit      *TimeLimit
	// leave moves the attempt to the lane of verifications; may be nil.
	leave func()
	// Based gives the archiver the snapshot that it has asked for; may be nil.
	Based func(archive.Base)

	turn turns.Turn

	mu sync.Mutex
	// passed are the bytes of the stages before this one.
	passed int64
	// StartedAt is when the attempt was queued, and later when a worker began it.
	StartedAt time.Time
	progress  state.Progress
	// since is when the stage started.
	since time.Time
	// why returns why the attempt waits; nil while it does not.
	why func() turns.Reason
}

func (t *Progress) now() state.Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.progress
	if t.why != nil {
		p.Why = t.why()
	}
	return p
}

// Begin records that a worker runs the attempt now, and returns how long it was queued.
func (t *Progress) Begin(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	waited := now.Sub(t.StartedAt)
	t.StartedAt = now
	return waited
}

// LeaveLane gives the attempt's slot to the next snapshot.
func (t *Progress) LeaveLane() {
	if t.leave != nil {
		t.leave()
	}
}

// Give gives the archiver its snapshot as soon as that is in the store. A restore test may take long, and etcd may be compacted meanwhile.
func (t *Progress) Give(base archive.Base) {
	if t.Based != nil {
		t.Based(base)
	}
}

func (t *Progress) began() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.StartedAt
}

// Stage begins a stage of the attempt.
func (t *Progress) Stage(stage string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passed += t.progress.Bytes
	t.progress, t.since = state.Progress{Stage: stage}, time.Now()
}

// Passing starts a stage that processes about that many bytes. The function that it returns takes the count so far.
func (t *Progress) Passing(stage string, about int64) func(int64) {
	t.Stage(stage)
	return func(n int64) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.progress = state.Progress{Stage: stage, Bytes: n, About: about}
		t.turn.Reach(t.passed + n)
		if took := time.Since(t.since); took >= time.Second {
			t.progress.PerSecond = int64(float64(n) / took.Seconds())
		}
	}
}

// waiting shows that the attempt waits and why, and pauses its time limit until done is called.
func (t *Progress) waiting(stage string, why func() turns.Reason) (done func()) {
	t.mu.Lock()
	t.passed += t.progress.Bytes
	t.progress, t.since, t.why = state.Progress{Stage: stage}, time.Now(), why
	t.mu.Unlock()
	resume := t.Limit.pause()
	return func() {
		t.mu.Lock()
		t.why = nil
		t.mu.Unlock()
		resume()
	}
}
