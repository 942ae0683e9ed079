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
	// leftoverAge is the minimum age of a leftover, so that an upload in progress is never taken for one.
	leftoverAge = 24 * time.Hour
	// orphanAge is the same if the EtcdBackup is deleted, because no later attempt can do it. The manifest follows its object
	// within seconds. It is below purgeLimit, so that the purge can wait for it.
	orphanAge = 5 * time.Minute
	// keptShown is how many snapshots the status lists.
	keptShown = 10
	// refusals is after how many refused deletions the operator tries no more.
	refusals = 10
)

// tidy deletes the snapshots that retention does not keep, and once an hour the leftovers of killed operators. Its errors
// do not fail the attempt.
func (t *job) tidy(ctx context.Context, o jobSpec, s stored, saved string, result *Result) {
	keep := o.Keep
	keep.Now, keep.Saved = t.now(), saved
	if keep.Within > 0 && s.ahead != nil {
		keep.Ahead = *s.ahead
	}
	decision, err := snapshot.Retain(ctx, s.store, s.series, s.index, s.known, keep)
	result.blame(o, err)
	deleted, err := prune(ctx, s.store, decision.Delete)
	result.blame(o, err)
	result.Pruned, result.Kept = len(deleted), t.kept(ctx, o, s, deleted)
	if result.PruneProblem == "" && len(decision.Notices) > 0 {
		result.PruneReason, result.PruneProblem = v1beta2.ReasonSnapshotsKept, clip(strings.Join(decision.Notices, " "))
	}
	if hour := time.Hour; s.ahead == nil || s.previous.Truncate(hour).Equal(t.now().Truncate(hour)) {
		return
	}
	before := t.now().Add(-max(*s.ahead, 0) - max(leftoverAge, 2*o.Timeout)) // by the clock of the store
	result.blame(o, sweep(ctx, s.store, s.series, before, before))
}

// blame records the first error of a deletion.
func (r *Result) blame(o jobSpec, err error) {
	if err == nil || r.PruneProblem != "" {
		return
	}
	f := classify(err, o, false)
	r.PruneReason, r.PruneProblem = f.Reason, f.Message
}

// kept returns the newest snapshots that were not deleted.
func (t *job) kept(ctx context.Context, o jobSpec, s stored, deleted []string) []v1beta2.Snapshot {
	items, err := s.newest(ctx, o, t.now(), keptShown+len(deleted))
	if err != nil {
		return nil
	}
	var out []v1beta2.Snapshot
	for _, item := range items {
		if len(out) < keptShown && !slices.Contains(deleted, item.Key) {
			told := o.tell(item.Key, s.known[item.Key].Manifest)
			told.RestoreTest = testResults[item.Verdict]
			out = append(out, told)
		}
	}
	return out
}

// testResults are the results of restore tests as the status shows them.
var testResults = map[snapshot.Result]v1beta2.DrillResult{snapshot.Passed: v1beta2.DrillPassed, snapshot.Failed: v1beta2.DrillFailed}

// prune deletes the keys in order, of each snapshot first the object, then its verdict, then its manifest. It returns the
// keys of the deleted snapshots. If the store refuses to delete an object, prune keeps the others and continues with the
// next snapshot. It stops at any other error.
func prune(ctx context.Context, store objstore.Store, keys []string) (deleted []string, err error) {
	refused, locked := 0, ""
	for _, key := range keys {
		if locked != "" && strings.HasPrefix(key, locked+".") {
			continue
		}
		failure := store.Delete(ctx, key)
		if failure == nil {
			if !strings.HasSuffix(key, snapshot.ManifestKey("")) && !snapshot.IsVerdict(key) {
				deleted = append(deleted, key)
			}
			continue
		}
		if err == nil {
			err = fmt.Errorf("delete old snapshot: %w", failure)
		}
		if refused, locked = refused+1, key; !errors.Is(failure, fs.ErrPermission) || refused == refusals {
			break
		}
	}
	return deleted, err
}

// maxLeftovers is the largest number of objects without a manifest that are taken for those of killed operators.
const maxLeftovers = 3

// sweep deletes objects without a manifest, and unfinished uploads, that killed operators left before these times. It looks
// at all incarnations of the series' cluster, and only at names that this operator gives to snapshots.
func sweep(ctx context.Context, store objstore.Store, series snapshot.Series, before, uploadsBefore time.Time) error {
	uploads := sweepUploads(ctx, store, series.Lives(), func(key string, started time.Time) bool {
		_, ours := snapshot.ParseKey(key)
		return ours && started.Before(uploadsBefore)
	})
	orphans, err := orphansOf(ctx, store, series, before)
	if err != nil {
		return err
	}
	whole := slices.DeleteFunc(slices.Clone(orphans), snapshot.IsVerdict)
	if len(whole) > maxLeftovers {
		return fail(v1beta2.ReasonSnapshotsKept, fmt.Sprintf("%d objects under %s have no manifest, such as %s. A killed operator leaves fewer, so these may be snapshots whose "+
			"manifests were deleted. The operator keeps them. Bring the manifests back, or delete the objects.", len(whole), series.Lives(), whole[0]))
	}
	for _, key := range orphans {
		if err := store.Delete(ctx, key); err != nil {
			return fmt.Errorf("delete object without manifest: %w", err)
		}
	}
	return uploads
}

// orphansOf returns the objects without a manifest from before that time.
func orphansOf(ctx context.Context, store objstore.Store, series snapshot.Series, before time.Time) ([]string, error) {
	var objects []objstore.Object
	for object, err := range store.List(ctx, series.Lives()) {
		if err != nil {
			return nil, fmt.Errorf("list the objects to find leftovers: %w", err)
		}
		objects = append(objects, object)
	}
	return snapshot.Orphans(series, objects, before), nil
}

// purge deletes all snapshots that this EtcdBackup has written, of every incarnation of its cluster, in both locations.
func (t *job) purge(ctx context.Context, o jobSpec, progress *jobProgress) (Result, error) {
	progress.stage("deleting the snapshots")
	result, err := t.purgeLocation(ctx, o)
	if o.Copy == nil {
		return result, err
	}
	progress.stage("deleting the snapshots in the second location")
	copies, failed := t.purgeLocation(ctx, o.second())
	if result.Pruned += copies.Pruned; err == nil && failed != nil {
		err = ofLocation(ctx, failed, o.second())
	}
	return result, err
}

func (t *job) purgeLocation(ctx context.Context, o jobSpec) (Result, error) {
	store, err := t.store(ctx, o)
	if err != nil {
		return Result{}, err
	}
	removed, err := t.purgeFrom(ctx, o, store)
	if err == nil && o.Archived {
		err = t.purgeArchive(ctx, o, store)
	}
	if errors.Is(err, objstore.ErrNoBucket) {
		return Result{}, nil // without a bucket there are no snapshots
	}
	return Result{Pruned: removed}, err
}

func (t *job) purgeFrom(ctx context.Context, o jobSpec, store objstore.Store) (int, error) {
	series := snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster}
	prefix := o.Target.Key
	if o.Series {
		prefix = series.Lives()
	}
	listing, err := snapshot.List(ctx, store, prefix)
	if err != nil {
		return 0, err
	}
	deleted, err := prune(ctx, store, snapshot.Written(listing, o.mark()))
	if err != nil {
		return 0, err
	}
	removed := len(deleted)
	for name, err := range listing.Unreadable {
		if !errors.Is(err, snapshot.ErrManifest) && !errors.Is(err, snapshot.ErrNewerFormat) {
			return removed, fmt.Errorf("read the manifest %s, which may be of this EtcdBackup: %w", name, err)
		}
	}
	if !o.Series {
		if err := snapshot.DropDrafts(ctx, store, o.Target.Key, o.mark()); err != nil {
			return removed, err
		}
		return removed, sweepUploads(ctx, store, prefix, func(key string, started time.Time) bool {
			return key == o.Target.Key && !started.Before(o.Since.Truncate(time.Second))
		})
	}
	// An unfinished upload may be of another EtcdBackup or Kubernetes, which has no snapshot here yet.
	old := t.now().Add(-leftoverAge)
	if shared(listing, o.mark()) {
		return removed, sweep(ctx, store, series, old, old)
	}
	if err := sweep(ctx, store, series, t.now().Add(-orphanAge), old); err != nil {
		return removed, err
	}
	return removed, awaitOrphans(ctx, store, series)
}

// awaitOrphans fails while there are objects without a manifest that are too young to be deleted. This EtcdBackup may have
// written them just before it was deleted.
func awaitOrphans(ctx context.Context, store objstore.Store, series snapshot.Series) error {
	left, err := orphansOf(ctx, store, series, endOfTime)
	if err != nil || len(left) == 0 {
		return err
	}
	return fail(v1beta2.ReasonRemovingSnapshots, fmt.Sprintf(
		"%d objects without a manifest, such as %s, are younger than %s, so another upload may be in progress. The operator deletes them when they are older.",
		len(left), left[0], orphanAge))
}

// endOfTime is after every time of a store.
var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// shared reports whether other EtcdBackups write into the folder, for example one of the same name in another Kubernetes.
// An upload of theirs may take longer than orphanAge, and its name does not tell whose it is.
func shared(listing snapshot.Listing, mark string) bool {
	return len(listing.Unreadable) > 0 || slices.ContainsFunc(slices.Concat(listing.Snapshots, listing.Headless), func(e snapshot.Entry) bool {
		return !strings.HasPrefix(e.Manifest.Attempt, mark+"/")
	})
}
