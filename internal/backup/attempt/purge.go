package attempt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
)

// purgeSnapshots deletes all of these names, those of several snapshots at the same time. A long series would outlast plan.PurgeLimit otherwise. It
// returns how many snapshots it has deleted.
func purgeSnapshots(ctx context.Context, store objstore.Store, names []string) (int, error) {
	var each [][]string // the names of each snapshot, which are in order
	for _, name := range names {
		if n := len(each) - 1; n >= 0 && strings.HasPrefix(name, each[n][0]+".") {
			each[n] = append(each[n], name)
			continue
		}
		each = append(each, []string{name})
	}
	var count atomic.Int64
	err := objstore.EachOf(ctx, purgers, each, func(names []string) error {
		deleted, err := prune(ctx, store, names)
		count.Add(int64(len(deleted)))
		return err
	}).Err()
	return int(count.Load()), err
}

// all deletes all snapshots that this EtcdBackup has written, of every incarnation of its cluster, in both locations.
func (p purger) all(ctx context.Context, o state.JobSpec, progress *queue.Progress) (state.Result, error) {
	progress.Stage("deleting the snapshots")
	result, err := p.location(ctx, o)
	if o.Copy == nil {
		return result, err
	}
	progress.Stage("deleting the snapshots in the second location")
	copies, failed := p.second(ctx, o)
	if result.Pruned += copies.Pruned; err == nil && failed != nil {
		err = ofLocation(ctx, failed, o.Second())
	}
	if result.PruneProblem == "" {
		result.PruneReason, result.PruneProblem = copies.PruneReason, copies.PruneProblem
	}
	return result, err
}

// second deletes the copies, and the copy of the archive if there is one. A location that refuses to list archives has none of this EtcdBackup,
// unless the status shows one.
func (p purger) second(ctx context.Context, o state.JobSpec) (state.Result, error) {
	second := o.Second()
	if !o.Archived {
		return p.location(ctx, second)
	}
	store, err := p.Store(ctx, second)
	if err != nil {
		return state.Result{}, err
	}
	_, second.Archived, err = archive.Newest(ctx, store, second.ArchiveRoot())
	refused := errors.Is(err, fs.ErrPermission) && !o.CopyHasArchive
	if err != nil && !refused && !errors.Is(err, objstore.ErrNoBucket) {
		return state.Result{}, err
	}
	return p.location(ctx, second)
}

func (p purger) location(ctx context.Context, o state.JobSpec) (state.Result, error) {
	store, err := p.Store(ctx, o)
	if err != nil {
		return state.Result{}, err
	}
	removed, held, err := p.from(ctx, o, store)
	if err == nil && o.Archived {
		var needed string
		if needed, err = p.archiveNeeded(ctx, o); needed != "" {
			held = needed
		} else if err == nil {
			err = p.archive(ctx, o, store, &removed)
		}
	}
	if err == nil && held != "" {
		err = failure.New(v1beta2.ReasonRemovingSnapshots, held+" The other snapshots are deleted.")
	}
	if errors.Is(err, objstore.ErrNoBucket) {
		return state.Result{}, nil // without a bucket there are no snapshots
	}
	return removed, err
}

// from deletes what it may. held says which snapshot is kept for an EtcdRestore; empty if none is.
func (p purger) from(ctx context.Context, o state.JobSpec, store objstore.Store) (removed state.Result, held string, err error) {
	series := snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster}
	prefix, list := o.Target.Key, catalog.ListObject
	if o.Series {
		prefix, list = series.Lives(), catalog.List
	}
	listing, err := list(ctx, store, prefix)
	if err != nil {
		return state.Result{}, "", err
	}
	usable := map[string]bool{}
	for _, e := range listing.Snapshots {
		usable[e.Key] = e.Verdict != snapshot.Failed && !e.Manifest.NoQuorum
	}
	written := catalog.Written(listing, o.AttemptPrefix())
	var needs clients.Needs
	if len(written) > 0 {
		if needs, err = p.Needs(ctx, o); err != nil {
			return state.Result{}, "", err
		}
	}
	unneeded, held, err := needs.Unneeded(ctx, o.Target.Bucket, written, written, func(key string) bool { return usable[key] })
	if err != nil {
		return state.Result{}, "", err
	}
	removed.Pruned, err = purgeSnapshots(ctx, store, unneeded)
	if err != nil {
		return state.Result{}, "", err
	}
	for name, err := range listing.Unreadable {
		if !errors.Is(err, snapshot.ErrManifest) && !errors.Is(err, snapshot.ErrNewerFormat) {
			return removed, held, fmt.Errorf("read the manifest %s, which may be of this EtcdBackup: %w", name, err)
		}
	}
	if !o.Series {
		if err := save.DropDrafts(ctx, store, o.Target.Key, o.AttemptPrefix()); err != nil {
			return removed, held, err
		}
		return removed, held, sweepUploads(ctx, store, prefix, func(key string, started time.Time) bool {
			return key == o.Target.Key && !started.Before(o.Since.Truncate(time.Second))
		})
	}
	removed, err = p.leftovers(ctx, o, store, series, removed)
	return removed, held, err
}

// leftovers deletes what killed operators of this EtcdBackup left. It fails while some of that is too young: the upload may
// be in progress. Other objects without a manifest are kept and reported. An unfinished upload has no draft, so it may be of
// another EtcdBackup or Kubernetes.
func (p purger) leftovers(ctx context.Context, o state.JobSpec, store objstore.Store, series snapshot.Series, removed state.Result) (state.Result, error) {
	if _, err := sweep(ctx, store, series, o.AttemptPrefix(), p.Now().Add(-OrphanAge), p.Now().Add(-LeftoverAge), true); err != nil {
		return removed, err
	}
	left, err := catalog.FindLeftovers(ctx, store, series, o.AttemptPrefix(), endOfTime)
	if err != nil {
		return removed, err
	}
	if left.DeleteAll(); len(left.Delete) > 0 {
		return removed, failure.New(v1beta2.ReasonRemovingSnapshots, fmt.Sprintf(
			"Objects without a manifest that are younger than %s: %d, such as %s. An upload may be in progress. The operator deletes them when they are older.",
			OrphanAge, len(left.Delete), left.Delete[0]))
	}
	reportKept(&removed, o, left.Keep, series.Lives())
	return removed, nil
}

// endOfTime is after every time of a store.
var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
