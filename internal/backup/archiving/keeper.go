package archiving

import (
	"context"
	"errors"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/inventory"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

func (k *keeper) run(ctx context.Context) {
	k.known, k.asked = catalog.Known{}, map[string]time.Time{}
	k.held = objstore.Keep(k.key.Object.Namespace)
	defer k.held.Release()
	tick := time.NewTicker(limits.Interval)
	defer tick.Stop()
	stale := true
	for {
		status := k.running.Status()
		if status.Timeline > 0 {
			if stale = stale || k.changed(status); stale && !k.job.Now().Before(k.next) {
				if stale = !k.look(ctx); !stale {
					k.seen = status
				}
			}
			k.before = status
			k.limitLinks(ctx, status)
			k.replaceSpoilt(ctx)
			stale = k.prune(ctx) || stale
		}
		k.publish(status)
		select {
		case <-ctx.Done():
			return
		case <-k.news:
			stale, k.pruned = true, false
		case <-tick.C:
		}
	}
}

// changed returns whether the last survey, or what it found outdated, may not be right any more.
func (k *keeper) changed(now archiver.Status) bool {
	const limit = archive.MaxLinks
	if k.surveyed && k.following(now) >= limit && k.following(k.before) < limit {
		return true // the newest changes cannot be restored any more before the next snapshot
	}
	if !k.again.IsZero() && !k.job.Now().Before(k.again) {
		return true
	}
	return now.Timeline != k.before.Timeline || now.Gaps != k.before.Gaps || now.Unbroken != k.before.Unbroken || k.current().job.Keep.Window != k.window
}

// look surveys the archive, and returns whether it could.
func (k *keeper) look(ctx context.Context) bool {
	o := k.current().job
	k.outdated, k.later, k.window = nil, nil, o.Keep.Window
	// What a look reads counts to the work of minutes, and what is left of it after the look to what is kept.
	ctx, names := objstore.Hold(ctx, o.Namespace)
	defer names.Release()
	found, err := inventory.Of(ctx, k.store, o, k.known)
	if err != nil {
		k.forget()
		return k.unread(err)
	}
	defer func() {
		names.Release() // what is kept does not count twice
		k.recount(found.Index)
	}()
	k.survey, k.surveyed, k.again = found.Survey, true, time.Time{}
	defer k.survey.Drop() // a keeper runs for months
	if err := inventory.Astray(k.survey, k.running.Status()); err != nil {
		k.end(err)
		return false
	}
	k.update(func(v *state.Archive) {
		v.Unpruned, v.Unread, v.Corrupt, v.Holes = inventory.Sentences(inventory.Startless(k.survey.Startless), inventory.Partial(k.survey)), "", false, inventory.Unrestorable(k.survey)
		v.Proof = found.Last
	})
	k.vain = inventory.Vain(o, k.survey, k.known, k.job.Now())
	if len(k.survey.Unreadable)+len(k.survey.ColdBases) > 0 {
		k.again = k.job.Now().Add(limits.AskAgain)
	}
	k.disproven = found.Last != nil && found.Last.Result == v1beta2.ProofFailed
	o.Keep.Now = k.job.Now() // a snapshot from the future is no base
	k.base = k.survey.NewestBase()
	if err = k.findOutdated(ctx, o, found); err != nil {
		return k.unread(err)
	}
	k.outdate(o, archive.OutdatedProofs(o.ArchiveRoot(), k.survey.Names, found.Proofs))
	k.findSpoilt(o, found.Index)
	if k.spoilt.count == 0 {
		k.cover(ctx, o, found.Bases)
	}
	return true
}

// unread reports that the archive could not be read. The keeper looks again after a time.
func (k *keeper) unread(err error) bool {
	k.next = k.job.Now().Add(limits.Retry)
	k.update(func(v *state.Archive) {
		v.Unread, v.Corrupt = planning.Sentence("The operator could not read the archive: ", err.Error()), errors.Is(err, archive.ErrCorrupt)
	})
	return false
}
