package archiving

import (
	"context"
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/inventory"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// findOutdated finds what no target in the window needs. What a waiting EtcdRestore may need is kept until it has chosen, so the keeper looks again.
func (k *keeper) findOutdated(ctx context.Context, o state.JobSpec, f inventory.Found) error {
	selections, err := inventory.Protected(ctx, k.job.Clients, &o)
	if err != nil {
		k.again = k.job.Now().Add(limits.AskAgain)
		k.update(func(v *state.Archive) {
			v.Unpruned = inventory.Sentences(v.Unpruned, planning.Sentence("Old parts of the archive are kept, because the operator cannot read what may be restored: ", err.Error()))
		})
		return nil //nolint:nilerr // only deletions stop
	}
	k.selections = selections
	selected := inventory.SelectedBases(o, selections, f.Bases, k.known)
	if len(selected) > 0 {
		k.again = k.job.Now().Add(limits.AskAgain)
	}
	k.later, k.more, err = inventory.OutdatedBy(ctx, k.store, o, k.survey, f.Index, k.known, selected...)
	return err
}

// outdate notes what is to be deleted: some of it, because a keeper holds it for hours.
func (k *keeper) outdate(o state.JobSpec, proofs []string) {
	first := ""
	if len(k.later) > 0 {
		first = k.later[0].Key(o.ArchiveRoot())
	}
	// If the first one is still listed after it was deleted, the store keeps what it has deleted.
	k.more, k.first = k.more && first != k.first, first
	k.outdated = slices.Clone(proofs[:min(len(proofs), inventory.MaxRefused)])
}

// refill puts the next ones first. Of those that were refused, it keeps some: the next look finds the others again.
func (k *keeper) refill(root string) {
	n := min(limits.Deletions, len(k.later))
	keys := make([]string, 0, n+len(k.outdated))
	for _, name := range k.later[:n] {
		keys = append(keys, name.Key(root))
	}
	k.outdated, k.later = append(keys, k.outdated[:min(len(k.outdated), inventory.MaxRefused)]...), k.later[n:]
}

// prune deletes some of the outdated objects, oldest first. What was found outdated before a test has failed is kept, too. It returns whether
// the ranges are to be looked at again, because all is deleted. It does so once after each news, because a store may keep what it has deleted.
func (k *keeper) prune(ctx context.Context) bool {
	o := k.current().job
	if k.job.Now().Before(k.next) || o.Distrusted != nil || k.disproven || o.Doubted && (o.Keep.Verify || o.Keep.Tests) {
		return false
	}
	if len(k.later)+len(k.outdated) > 0 {
		if more, err := inventory.SelectsMore(ctx, k.job.Clients, o, k.selections); more || err != nil {
			k.outdated, k.later = nil, nil
			return true
		}
	}
	k.refill(o.ArchiveRoot())
	outdated := len(k.outdated)
	batch := k.outdated[:min(limits.Deletions, outdated)]
	errs := objstore.Errors{Refusals: clients.MaxRefusals}
	var kept []string
	for _, key := range batch {
		err := k.store.Delete(ctx, key)
		if k.outdated = k.outdated[1:]; err != nil {
			kept = append(kept, key)
		}
		if !errs.Add(ctx, err) {
			break
		}
	}
	k.outdated = slices.Concat(k.outdated, kept) // what is refused must not stand in the way of the others
	if err := errs.Err(); err != nil {
		if ctx.Err() == nil {
			k.next = k.job.Now().Add(limits.Retry)
			k.update(func(v *state.Archive) {
				v.Unpruned = fmt.Sprintf("Old parts of the archive were not deleted: %v.", err)
			})
		}
		return false
	}
	if outdated == 0 || len(k.outdated)+len(k.later) > 0 || k.pruned && !k.more {
		return false
	}
	k.pruned = true
	return true
}

// forget forgets what was read, and returns its memory: after an error it is not known what of it is counted.
func (k *keeper) forget() {
	clear(k.known)
	k.held.Release()
}

// recount counts what is held until the next look. If it does not fit, fewer outdated segments are deleted before the next look.
func (k *keeper) recount(index catalog.Index) {
	k.known.Recount(k.held, index)
	if len(k.later) > inventory.MaxRefused && k.held.Add(archive.NamesBytes(len(k.later))) != nil {
		k.later, k.more = slices.Clone(k.later[:inventory.MaxRefused]), true
	}
}

// findSpoilt finds the snapshots to replace, and when that is due.
func (k *keeper) findSpoilt(o state.JobSpec, index catalog.Index) {
	found, now := spoilt{}, k.job.Now()
	if n := len(k.survey.Starts); n > 0 {
		found = spoiltOf(o, k.survey.Starts[n-1].ClusterID, index, k.known, now)
	}
	k.replaceAt = found.follow(k.spoilt, k.replaceAt, now)
	if latest := now.Add(limits.AskAgain); !k.survey.Covered && k.replaceAt.After(latest) {
		k.replaceAt = latest // the newest changes cannot be restored until then
	}
	k.spoilt = found
}

// replaceSpoilt asks for a snapshot when it is due. The reason names the snapshot that it replaces, so it is asked for once.
func (k *keeper) replaceSpoilt(ctx context.Context) {
	if now := k.job.Now(); k.spoilt.count > 0 && !now.Before(k.replaceAt) {
		k.askForBase(ctx, fmt.Sprintf("snapshot %s failed its restore test (%d in a row)", k.spoilt.newest, k.spoilt.count))
	}
}
