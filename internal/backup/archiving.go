package backup

import (
	"context"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// archiving is one archiver. Passes read its view, and give it what it asks for.
type archiving struct {
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
	spec     archiveSpec
	view     Archive
	archived bool      // since the archiver was started last
	safeAt   time.Time // up to which all was in the store at the last look; zero if that is not known
	answer   chan archive.Base
}

// starts records that the archiver is started, perhaps again.
func (a *archiving) starts(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.archived = false
	a.idle(now)
}

// failed records that the archiver has ended, and is started again after a pause.
func (a *archiving) failed(failures int32, why *Failure, now time.Time, pause time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	v := &a.view
	v.Failures, v.Failure, v.RetryAt, v.Begun = failures, why, now.Add(pause), false
	a.idle(now)
}

// idle needs a.mu.
func (a *archiving) idle(now time.Time) {
	if a.view.Idle.IsZero() {
		a.view.Idle = now
	}
}

// hasArchived returns whether the archiver has archived since it was started last. One that ends without that has failed, however long it
// has tried.
func (a *archiving) hasArchived() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.archived
}

// accepts changes the spec, unless the archiver has to start again for that.
func (a *archiving) accepts(spec archiveSpec) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !sameArchive(a.spec, spec) {
		return false
	}
	a.spec = spec
	return true
}

// storesAs reports whether another archiver would store to the same place. Else a user may have corrected it.
func (a *archiving) storesAs(spec archiveSpec) bool {
	now := a.current()
	now.recovery = spec.recovery
	return sameArchive(now, spec)
}

func (a *archiving) current() archiveSpec {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spec
}

func (a *archiving) look() *Archive {
	a.mu.Lock()
	defer a.mu.Unlock()
	view := a.view
	return &view
}

func (a *archiving) update(change func(*Archive)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.view)
}

func (a *archiving) safe() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.safeAt
}

// lookAgain makes the keeper survey the archive.
func (a *archiving) lookAgain() {
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// ask waits until a snapshot was taken for a reason. One is asked for at a time.
func (a *archiving) ask(ctx context.Context, reason string) (archive.Base, error) {
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
func (a *archiving) give(want string, base archive.Base) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answer == nil || a.view.Want != want {
		return
	}
	a.answer <- base
	a.view.Want, a.answer = "", nil
}
