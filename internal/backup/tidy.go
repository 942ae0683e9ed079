package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

const (
	// leftoverAge is how old that must be which a killed operator has left, to be told from what is being written.
	leftoverAge = 24 * time.Hour
	// orphanAge is the same where the EtcdBackup goes, and nobody comes after it.
	orphanAge = 10 * time.Minute
	// keptShown is how many snapshots the status tells of.
	keptShown = 10
	// refusals after which no further deletion is tried.
	refusals = 10
)

// tidy removes what is not kept, and once an hour what killed operators left. That it does not go well is no
// failure of the snapshot.
func (t *taker) tidy(ctx context.Context, o order, store objstore.Store, series snapshot.Series, listing snapshot.Listing, previous time.Time, result *Result) {
	keep := o.Keep
	keep.Now = t.now()
	gone := snapshot.Retain(series, listing, keep)
	deleted, err := prune(ctx, store, gone)
	result.blame(o, err)
	result.Pruned, result.Kept = len(deleted), o.kept(series, listing, deleted)
	if hour := time.Hour; previous.Truncate(hour).Equal(t.now().Truncate(hour)) {
		return
	}
	result.blame(o, sweep(ctx, store, series, t.now().Add(-max(leftoverAge, 2*o.Timeout))))
}

// blame notes the first thing that could not be removed.
func (r *Result) blame(o order, err error) {
	if err == nil || r.PruneProblem != "" {
		return
	}
	f := classify(err, o, false)
	r.PruneReason, r.PruneProblem = f.Reason, f.Message
}

// kept are the newest of what is left.
func (o order) kept(series snapshot.Series, listing snapshot.Listing, deleted []string) []v1beta2.Snapshot {
	var out []v1beta2.Snapshot
	for _, entry := range o.Keep.Candidates(series, listing) {
		if len(out) < keptShown && !slices.Contains(deleted, entry.Key) {
			out = append(out, o.tell(entry.Key, entry.Manifest))
		}
	}
	return out
}

// prune deletes keys in their order, of each snapshot the object and then its manifest, and says which snapshots
// are gone. One that is locked, or not to be removed by us, stays whole and keeps no others; at any other error it
// stops.
func prune(ctx context.Context, store objstore.Store, keys []string) (deleted []string, err error) {
	refused, locked := 0, ""
	for _, key := range keys {
		if locked != "" && key == snapshot.ManifestKey(locked) {
			continue
		}
		failure := store.Delete(ctx, key)
		if failure == nil {
			if !strings.HasSuffix(key, snapshot.ManifestKey("")) {
				deleted = append(deleted, key)
			}
			continue
		}
		if err == nil {
			err = fmt.Errorf("remove old snapshot: %w", failure)
		}
		if refused, locked = refused+1, key; !errors.Is(failure, fs.ErrPermission) || refused == refusals {
			break
		}
	}
	return deleted, err
}

// sweep removes objects without a manifest and parts of uploads that killed operators left before a time, in all
// lives of the series' cluster: only what is named as this operator names its snapshots.
func sweep(ctx context.Context, store objstore.Store, series snapshot.Series, before time.Time) error {
	var objects []objstore.Object
	for object, err := range store.List(ctx, series.Lives()) {
		if err != nil {
			return fmt.Errorf("look for leftovers: %w", err)
		}
		objects = append(objects, object)
	}
	for _, key := range snapshot.Orphans(series, objects, before) {
		if err := store.Delete(ctx, key); err != nil {
			return fmt.Errorf("remove object without manifest: %w", err)
		}
	}
	return sweepUploads(ctx, store, series.Lives(), func(key string, started time.Time) bool {
		_, ours := snapshot.ParseKey(key)
		return ours && started.Before(before)
	})
}

// purge removes all that this EtcdBackup wrote, in every life of its cluster.
func (t *taker) purge(ctx context.Context, o order, progress *tracker) (Result, error) {
	progress.stage("removing the snapshots")
	store, err := t.store(ctx, o)
	if err != nil {
		return Result{}, err
	}
	removed, err := t.purgeFrom(ctx, o, store)
	if errors.Is(err, objstore.ErrNoBucket) {
		return Result{}, nil // and no snapshots
	}
	return Result{Pruned: removed}, err
}

func (t *taker) purgeFrom(ctx context.Context, o order, store objstore.Store) (int, error) {
	series := snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster}
	prefix := o.Target.Key
	if o.Series {
		prefix = series.Lives()
	}
	listing, err := snapshot.List(ctx, store, prefix)
	if err != nil {
		return 0, err
	}
	keys := snapshot.Written(listing, o.mark())
	if _, err := prune(ctx, store, keys); err != nil {
		return 0, err
	}
	removed := len(keys) / 2
	if !o.Series {
		if err := snapshot.DropDrafts(ctx, store, o.Target.Key, o.mark()); err != nil {
			return removed, err
		}
		return removed, sweepUploads(ctx, store, prefix, func(key string, started time.Time) bool {
			return key == o.Target.Key && !started.Before(o.Since.Truncate(time.Second))
		})
	}
	return removed, sweep(ctx, store, series, t.now().Add(-orphanAge))
}
