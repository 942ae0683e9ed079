package copying

import (
	"context"
	"errors"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/follower"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

const (
	// lastCopyDelay is the longest pause after a failure. What the first location has by then waits for no longer when the second one is back.
	lastCopyDelay = 10 * time.Second
	// compareInterval is how often the listings are compared although nothing has happened: another party may have deleted a part of the copy.
	compareInterval = time.Hour
)

// Open returns copies without any copier, which read and write the stores of the clients.
func Open(c *clients.Clients, places *limits.Places, metrics *Metrics) *Copies {
	return New((&job{c, places, metrics}).copy)
}

// copy keeps the copy of one archive up to date until ctx ends.
func (t *job) copy(ctx context.Context, c *Copier) {
	w := &copying{Copier: c, job: t}
	defer w.prune.drop()
	defer func() {
		w.secrets.Release()
		if w.leave != nil {
			w.leave()
		}
	}()
	defer t.metrics.uncopied(c.key.Object)
	c.update(func(v *state.ArchiveCopy) { v.Idle = t.Now() })
	for ctx.Err() == nil {
		_, err := panics.Try(func() (struct{}, error) { return struct{}{}, w.step(ctx) })
		if ctx.Err() != nil {
			return
		}
		if caught := (*panics.Error)(nil); errors.As(err, &caught) {
			ctrl.Log.WithName(state.Operator).Error(err, "The copy of an archive panicked", "etcdBackup", c.key.Object, "stack", string(caught.Stack))
		}
		wait := limits.Interval
		if w.failed++; err == nil {
			w.failed = 0
		} else {
			wait = copyPause(w.failed, err)
		}
		w.report(err, wait)
		if !w.rest(ctx, wait, err == nil) {
			return
		}
	}
}

// copyPause returns the pause after a number of failures in a row. Another object under the key of a copy remains until a person removes it, and
// each attempt lists both locations.
func copyPause(failed int32, err error) time.Duration {
	if errors.Is(err, follower.ErrOtherCopy) {
		return limits.Retry
	}
	return min(limits.Delay(failed, err, "", 0, 0), lastCopyDelay)
}

// rest waits. After a success, something new ends the pause. It returns false if ctx has ended.
func (w *copying) rest(ctx context.Context, d time.Duration, awake bool) bool {
	if !awake {
		return limits.Pause(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w.news:
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// step copies what there is to copy. All of it is repeated after an error.
func (w *copying) step(ctx context.Context) error {
	spec := w.current()
	if w.Follower == nil {
		if err := w.open(ctx, spec); err != nil {
			return err
		}
	}
	if w.wantsLook() || !w.looked {
		w.next = time.Time{}
	}
	if !w.job.Now().Before(w.next) {
		if err := w.compare(ctx, spec); err != nil {
			return err
		}
	}
	if err := w.follow(ctx); err != nil {
		return err
	}
	if w.moved() { // other snapshots reach its end
		if err := w.lookAgain(ctx, spec); err != nil {
			return err
		}
	}
	w.discard(ctx, spec)
	return nil
}

// open takes a place, and opens both stores.
func (w *copying) open(ctx context.Context, spec Spec) error {
	if w.leave == nil {
		leave, err := w.job.places.TakeCopy(spec.job.Namespace)
		if err != nil {
			return err
		}
		w.leave = leave
	}
	limited, cancel := context.WithTimeout(ctx, limits.Prepare)
	defer cancel()
	w.secrets.Release() // of a try that has failed
	w.secrets = w.job.SecretsOf(spec.job.Namespace)
	first, second := spec.job, spec.job.CopiedArchive()
	from, err := w.secrets.LastingStore(limited, first)
	if err != nil {
		return ofSource(err)
	}
	to, err := w.secrets.LastingStore(limited, second)
	if err != nil {
		return err
	}
	w.second = to
	w.Follower = &follower.Follower{
		Copying: follower.Copying{
			From: from, To: to, FromRoot: first.ArchiveRoot(), ToRoot: second.ArchiveRoot(),
			Admit: copiedLinks.admit(first.Namespace),
		},
		Copied: w.advanced,
	}
	return nil
}

// compare looks at the second location, and then copies all that it lacks.
func (w *copying) compare(ctx context.Context, spec Spec) error {
	ctx, names := objstore.Hold(ctx, spec.job.Namespace)
	defer names.Release()
	unread := w.survey(ctx, spec) // the status reports it
	if unread != nil && !w.looked {
		return unread
	}
	if err := w.begunAgain(ctx); err != nil {
		return err
	}
	copied, err := w.Sync(ctx, w.floor)
	if err != nil {
		return err
	}
	if copied > 0 {
		unread = w.survey(ctx, spec)
	}
	w.next = w.job.Now().Add(compareInterval)
	switch {
	case unread != nil:
		w.next = w.job.Now().Add(limits.Retry)
	case w.shown.again:
		w.next = w.job.Now().Add(limits.AskAgain)
	}
	w.proofs(ctx, spec)
	return nil
}

// begunAgain returns an error if the second location has a newer timeline than the first one: that has begun again with an earlier number, because its bucket
// was replaced or emptied. Its changes would be older there than those of the archive before, so retention would delete them. It also returns one if the timeline
// with that number is another one in the first location, which has begun again and has reached that number since: otherwise its earlier timelines would be copied
// before that is found out. A first location without an archive has nothing to copy.
func (w *copying) begunAgain(ctx context.Context) error {
	newest, found, err := archive.NewestOf(ctx, w.From, w.FromRoot) // a listing may omit it
	switch {
	case err != nil:
		return ofSource(err)
	case found && newest.Timeline < w.newest:
		return fmt.Errorf("%w, of a timeline after the newest one in the first location, which is %d: %s", follower.ErrOtherCopy, newest.Timeline, archive.StartKey(w.ToRoot, w.newest))
	case !found || w.newest == 0:
		return nil
	}
	return w.SameStart(ctx, w.newest)
}

// lookAgain looks at the second location, and copies nothing.
func (w *copying) lookAgain(ctx context.Context, spec Spec) error {
	ctx, names := objstore.Hold(ctx, spec.job.Namespace)
	defer names.Release()
	return w.survey(ctx, spec)
}

// follow copies what the archiver has stored since.
func (w *copying) follow(ctx context.Context) error {
	head := w.offered()
	if head.Timeline == 0 {
		return nil // no archiver runs
	}
	_, err := w.Follow(ctx, head.Timeline, head.Stored.Revision)
	switch {
	case errors.Is(err, follower.ErrAgain):
		w.vain++
		if at := w.job.Now().Add(limits.Delay(w.vain, nil, "", 0, 0)); at.Before(w.next) {
			w.next = at
		}
		return nil
	case err != nil:
		return err
	}
	w.vain = 0
	return nil
}
