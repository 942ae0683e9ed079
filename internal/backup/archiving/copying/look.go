package copying

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/follower"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/inventory"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

func (p *pruning) drop() {
	p.outdated, p.keys, p.more = nil, nil, false
	p.held.Release()
}

// survey finds out what the second location has, by its own listing alone: what can be restored from it, and what of it no target needs.
func (w *copying) survey(ctx context.Context, spec Spec) error {
	o := spec.job.CopiedArchive()
	w.surveyed, _ = w.At()
	w.prune.drop() // it may be needed now
	known := catalog.Known{}
	found, err := inventory.Of(ctx, w.second, o, known)
	if err != nil {
		return w.unread(err)
	}
	defer found.Survey.Drop()
	o.Keep.Now = w.job.Now() // a snapshot from the future is no base
	selections, unprotected := inventory.Protected(ctx, w.job.Clients, &o)
	w.prune.selections = selections
	selected := inventory.SelectedBases(o, selections, found.Bases, known)
	base, needed, err := inventory.NeededFrom(ctx, w.second, o, found.Survey, found.Index, known, selected...)
	if err != nil {
		return w.unread(err)
	}
	w.looked, w.newest = true, 0
	if n := len(found.Survey.Names); n > 0 {
		w.newest = found.Survey.Names[n-1].Timeline
	}
	if unprotected == nil { // else the last floor holds, because this one may be after what is needed
		w.floor = follower.Floor{}
	}
	if needed && unprotected == nil {
		w.floor = follower.FloorOf(found.Survey, base)
		w.prune.outdated, w.prune.more, err = found.Survey.Outdated(ctx, w.second, o.ArchiveRoot(), base, inventory.MaxOutdated)
		if err != nil {
			return w.unread(err)
		}
	}
	w.prune.keys = archive.OutdatedProofs(o.ArchiveRoot(), found.Survey.Names, found.Proofs)
	w.count(o.Namespace)
	found.Survey.Drop()
	w.shown = lookedAt{survey: found.Survey, known: true, proofs: found.Proofs, holds: found.Last != nil && found.Last.Result == v1beta2.ProofFailed}
	w.shown.again = unprotected != nil || len(selected) > 0
	w.update(func(v *state.ArchiveCopy) { v.Unread, v.Unpruned = "", unpruned(unprotected) })
	return nil
}

// unread reports that the second location could not be read.
func (w *copying) unread(err error) error {
	w.update(func(v *state.ArchiveCopy) {
		v.Unread = planning.Sentence("The operator could not read the archive in the second location: ", err.Error())
	})
	return err
}

// unpruned says why nothing is deleted. It is empty if err is nil.
func unpruned(err error) string {
	if err == nil {
		return ""
	}
	return planning.Sentence("Old parts of the archive are kept in the second location, because the operator cannot read which ones are needed: ", err.Error())
}

// count counts the names that are held until they are deleted. If they do not fit, the others follow after the next look.
func (w *copying) count(namespace string) {
	if w.prune.held == nil {
		w.prune.held = objstore.Keep(namespace)
	}
	if n := len(w.prune.outdated); n > inventory.MaxRefused && w.prune.held.Add(archive.NamesBytes(n)) != nil {
		w.prune.outdated, w.prune.more = slices.Clone(w.prune.outdated[:inventory.MaxRefused]), true
	}
}

// moved reports whether the copy has reached a revision from which other snapshots are needed than those of the last look.
func (w *copying) moved() bool {
	at, synced := w.At()
	same := at.Timeline == w.surveyed.Timeline && at.Unbroken == w.surveyed.Unbroken
	return synced && w.shown.known && !same && at.Unbroken != w.shown.survey.Unbroken
}

// proofs copies what is proven. An error is not reported: the next comparison tries again.
func (w *copying) proofs(ctx context.Context, spec Spec) {
	if n, _ := w.Lacking(); n > 0 || !w.shown.known {
		return // a proof of what is not there
	}
	from, err := proofs.List(ctx, w.From, w.FromRoot)
	if err != nil {
		return
	}
	folders := func(o state.JobSpec) string {
		return snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster}.Lives()
	}
	first, second := folders(spec.job), folders(spec.job.CopiedArchive())
	_ = w.Proofs(ctx, w.floor, from, w.shown.proofs, func(key string) string { return second + strings.TrimPrefix(key, first) })
}

// keeps reports whether nothing may be deleted in the second location.
func (w *copying) keeps(spec Spec) bool {
	o := spec.job
	return !spec.prunes || o.Distrusted != nil || w.shown.holds || o.Doubted && (o.Keep.Verify || o.Keep.Tests)
}

// discard deletes some of what the last look has found outdated, oldest first. What is refused must not stand in the way of the others. An error delays no copy.
func (w *copying) discard(ctx context.Context, spec Spec) {
	p := &w.prune
	if w.keeps(spec) || w.job.Now().Before(p.next) || len(p.outdated)+len(p.keys) == 0 {
		return
	}
	if len(p.outdated) > 0 {
		if more, err := inventory.SelectsMore(ctx, w.job.Clients, spec.job.CopiedArchive(), p.selections); more || err != nil {
			p.drop()
			w.next = time.Time{}
			w.signal()
			return
		}
	}
	root := spec.job.CopiedArchive().ArchiveRoot()
	errs := objstore.Errors{Refusals: clients.MaxRefusals}
	left := limits.Deletions - min(len(p.keys), limits.Deletions)
	p.keys = discardEach(ctx, w.second, p.keys, limits.Deletions, &errs, func(key string) string { return key })
	p.outdated = discardEach(ctx, w.second, p.outdated, left, &errs, func(n archive.Name) string { return n.Key(root) })
	remark := ""
	if err := errs.Err(); err != nil {
		p.next = w.job.Now().Add(limits.Retry)
		remark = fmt.Sprintf("Old parts of the archive were not deleted in the second location: %v.", err)
	} else {
		if len(p.outdated) == 0 && p.more {
			w.next = time.Time{}
		}
		w.signal()
	}
	if ctx.Err() == nil {
		w.update(func(v *state.ArchiveCopy) { v.Unpruned = remark })
	}
}

// discardEach deletes the first objects, at most as many as most says. It returns the others, and after them those that were refused.
func discardEach[T any](ctx context.Context, store objstore.Store, all []T, most int, errs *objstore.Errors, keyOf func(T) string) []T {
	var kept []T
	for _, one := range all[:min(len(all), most)] {
		if errs.Ended() != nil {
			break
		}
		err := store.Delete(ctx, keyOf(one))
		if all = all[1:]; err != nil {
			kept = append(kept, one)
		}
		errs.Add(ctx, err)
	}
	if len(kept) == 0 {
		return all // it may be long
	}
	return slices.Concat(all, kept)
}
