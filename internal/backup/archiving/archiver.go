package archiving

import (
	"context"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// Archiver is one archiver. Passes read its view, and give it what it asks for.
type Archiver struct {
	key     worker.Key
	cancel  context.CancelCauseFunc
	hurry   context.CancelFunc // ends hurried, after which a stopped archiver does not wait for the store any more
	hurried <-chan struct{}
	notify  func()
	// news has an element after each new snapshot, and after a restore test that has failed.
	news chan struct{}
	turn chan struct{} // held while a base snapshot is asked for
	// stopped by its EtcdBackup, which still shows what it reports. archives.mu protects it.
	stopped bool

	mu       sync.Mutex
	spec     Spec
	view     state.Archive
	archived bool      // since the archiver was started last
	baseOwed bool      // an archiver has failed to take a base after a change of users
	fencedAt int64     // the last revision before the fence of a switchover; 0 for none
	safeAt   time.Time // up to which all was in the store at the last look; zero if that is not known
	answer   chan archive.Base
}

// owed returns what owes has recorded: whether an archiver has failed to take a base after a change of users.
func (a *Archiver) owed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.baseOwed
}

func (a *Archiver) owes(base bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.baseOwed = base
}

// starts records that the archiver is started, perhaps again.
func (a *Archiver) starts(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.archived = false
	a.idle(now)
}

// failed records that the archiver has ended, and is started again after a pause.
func (a *Archiver) failed(failures int32, why *state.Failure, now time.Time, pause time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	v := &a.view
	v.Failures, v.Failure, v.RetryAt, v.Begun = failures, why, now.Add(pause), false
	a.idle(now)
}

// idle needs a.mu.
func (a *Archiver) idle(now time.Time) {
	if a.view.Idle.IsZero() {
		a.view.Idle = now
	}
}

// hasArchived returns whether the archiver has archived since it was started last. One that ends without that has failed, however long it
// has tried.
func (a *Archiver) hasArchived() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.archived
}

// accepts changes the spec, unless the archiver has to start again for that.
func (a *Archiver) accepts(spec Spec) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !sameArchive(a.spec, spec) {
		return false
	}
	a.spec = spec
	return true
}

// storesAs reports whether another archiver would store to the same place. Else a user may have corrected it.
func (a *Archiver) storesAs(spec Spec) bool {
	now := a.current()
	now.recovery = spec.recovery
	return sameArchive(now, spec)
}

func (a *Archiver) current() Spec {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spec
}

// fence returns the last revision of a cluster that refuses all writes; 0 if it accepts them, or if that is not known.
func (a *Archiver) fence() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(a.spec.fence, a.fencedAt)
}

func (a *Archiver) look() *state.Archive {
	a.mu.Lock()
	defer a.mu.Unlock()
	view := a.view
	return &view
}

func (a *Archiver) update(change func(*state.Archive)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.view)
}

func (a *Archiver) safe() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.safeAt
}

// News has an element after each new snapshot, and after a restore test that has failed.
func (a *Archiver) News() <-chan struct{} { return a.news }

// lookAgain makes the keeper survey the archive.
func (a *Archiver) lookAgain() {
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// ask waits until a snapshot was taken for a reason. One is asked for at a time.
func (a *Archiver) ask(ctx context.Context, reason string) (archive.Base, error) {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return archive.Base{}, context.Cause(ctx)
	}
	defer func() { <-a.turn }()
	answer := make(chan archive.Base, 1)
	a.mu.Lock()
	a.view.Want, a.answer = reason, answer
	a.mu.Unlock()
	a.notify()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.view.Want, a.answer = "", nil
	}()
	select {
	case base := <-answer:
		return base, nil
	case <-ctx.Done():
		return archive.Base{}, context.Cause(ctx)
	}
}

// give answers ask.
func (a *Archiver) give(want string, base archive.Base) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answer == nil || a.view.Want != want {
		return
	}
	a.answer <- base
	a.view.Want, a.answer = "", nil
}
