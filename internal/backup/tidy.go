package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
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
	// refusals is after how many refused deletions of small objects, which do no harm, the operator tries no more.
	refusals = 10
)

// tidy deletes the snapshots that retention does not keep, and once an hour the leftovers of killed operators. Its errors
// do not fail the attempt.
func (t *job) tidy(ctx context.Context, o jobSpec, s stored, saved string, result *Result) {
	if why, err := o.archiveHolds(ctx, s.store); why != "" || err != nil {
		result.Kept = t.kept(ctx, o, s, nil)
		if result.blame(o, err); err == nil {
			result.PruneReason, result.PruneProblem = v1beta2.ReasonSnapshotsKept, why
		}
		return
	}
	keep := o.Keep
	keep.Now, keep.Saved = t.now(), saved
	if keep.Within > 0 && s.ahead != nil {
		keep.Ahead = *s.ahead
	}
	decision, err := snapshot.Retain(ctx, s.store, s.series, s.index, s.known, keep)
	result.blame(o, err)
	unneeded, restored, err := t.unneeded(ctx, o, decision.Delete)
	result.blame(o, err)
	if restored != "" {
		decision.Notices = append(decision.Notices, restored)
	}
	deleted, err := prune(ctx, s.store, unneeded)
	result.blame(o, err)
	result.Pruned, result.Kept = len(deleted), t.kept(ctx, o, s, deleted)
	if result.PruneProblem == "" && len(decision.Notices) > 0 {
		result.PruneReason, result.PruneProblem = v1beta2.ReasonSnapshotsKept, clip(strings.Join(decision.Notices, " "))
	}
	if hour := time.Hour; s.ahead == nil || s.previous.Truncate(hour).Equal(t.now().Truncate(hour)) {
		return
	}
	before := t.now().Add(-max(*s.ahead, 0) - max(leftoverAge, 2*o.Timeout)) // by the clock of the store
	left, err := sweep(ctx, s.store, s.series, o.mark(), before, before, false)
	result.blame(o, err)
	kept, err := s.finish(ctx, o, left)
	result.blame(o, err)
	result.keep(o, kept, s.series.Lives())
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
			told := o.tell(item.Key, s.known[item.Key].Manifest, s.signers)
			told.RestoreTest = testResults[item.Verdict]
			out = append(out, told)
		}
	}
	return out
}

// testResults are the results of restore tests as the status shows them.
var testResults = map[snapshot.Result]v1beta2.DrillResult{snapshot.Passed: v1beta2.DrillPassed, snapshot.Failed: v1beta2.DrillFailed}

// prune deletes the names in order, of each snapshot first the object, then its verdict, then its manifest. It returns the keys of the
// deleted snapshots. If the store refuses to delete an object, for example because it is locked, prune keeps the rest of that snapshot,
// and continues with the next one.
func prune(ctx context.Context, store objstore.Store, names []string) (deleted []string, err error) {
	locked := ""
	err = objstore.Each(ctx, names, func(name string) error {
		if locked != "" && strings.HasPrefix(name, locked+".") {
			return nil
		}
		if err := store.Delete(ctx, name); err != nil {
			locked = name
			return fmt.Errorf("delete old snapshot: %w", err)
		}
		if !strings.HasSuffix(name, snapshot.ManifestKey("")) && !snapshot.IsVerdict(name) && !snapshot.IsDraft(name) {
			deleted = append(deleted, name)
		}
		return nil
	}).Err()
	return deleted, err
}

// purgeSnapshots deletes all of these names, those of several snapshots at the same time. A long series would outlast purgeLimit otherwise. It
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

// sweep deletes what killed operators of this EtcdBackup left before one time, and unfinished uploads from before the other. It
// looks at all incarnations of the series' cluster. Snapshots without a manifest are deleted only with the EtcdBackup. It returns what it keeps.
func sweep(ctx context.Context, store objstore.Store, series snapshot.Series, mark string, before, uploadsBefore time.Time, deleted bool) (left snapshot.Leftovers, err error) {
	uploads := sweepUploads(ctx, store, series.Lives(), func(key string, started time.Time) bool {
		_, ours := snapshot.ParseKey(key)
		return ours && started.Before(uploadsBefore)
	})
	left, unread := snapshot.FindLeftovers(ctx, store, series, mark, before)
	if deleted {
		left.DeleteAll()
	}
	deletions := objstore.Each(ctx, left.Delete, func(name string) error {
		if err := store.Delete(ctx, name); err != nil {
			return fmt.Errorf("delete object without manifest: %w", err)
		}
		return nil
	})
	return left, cmp.Or(deletions.Err(), unread, uploads)
}

// keep reports objects without a manifest, unless there is an error.
func (r *Result) keep(o jobSpec, objects []string, prefix string) {
	if len(objects) == 0 {
		return
	}
	r.blame(o, fail(v1beta2.ReasonSnapshotsKept, fmt.Sprintf("Objects under %s without a manifest: %d, such as %s. They may be snapshots whose manifests were "+
		"deleted, or uploads of another EtcdBackup. The operator keeps them. Restore the manifests, or delete the objects.", prefix, len(objects), objects[0])))
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
	if result.PruneProblem == "" {
		result.PruneReason, result.PruneProblem = copies.PruneReason, copies.PruneProblem
	}
	return result, err
}

func (t *job) purgeLocation(ctx context.Context, o jobSpec) (Result, error) {
	store, err := t.store(ctx, o)
	if err != nil {
		return Result{}, err
	}
	removed, held, err := t.purgeFrom(ctx, o, store)
	if err == nil && o.Archived {
		err = t.purgeArchive(ctx, o, store, &removed)
	}
	if err == nil && held != "" {
		err = fail(v1beta2.ReasonRemovingSnapshots, held+" The other snapshots are deleted.")
	}
	if errors.Is(err, objstore.ErrNoBucket) {
		return Result{}, nil // without a bucket there are no snapshots
	}
	return removed, err
}

// purgeFrom deletes what it may. held says which snapshot is kept for an EtcdRestore; empty if none is.
func (t *job) purgeFrom(ctx context.Context, o jobSpec, store objstore.Store) (removed Result, held string, err error) {
	series := snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster}
	prefix, list := o.Target.Key, snapshot.ListObject
	if o.Series {
		prefix, list = series.Lives(), snapshot.List
	}
	listing, err := list(ctx, store, prefix)
	if err != nil {
		return Result{}, "", err
	}
	unneeded, held, err := t.unneeded(ctx, o, snapshot.Written(listing, o.mark()))
	if err != nil {
		return Result{}, "", err
	}
	removed.Pruned, err = purgeSnapshots(ctx, store, unneeded)
	if err != nil {
		return Result{}, "", err
	}
	for name, err := range listing.Unreadable {
		if !errors.Is(err, snapshot.ErrManifest) && !errors.Is(err, snapshot.ErrNewerFormat) {
			return removed, held, fmt.Errorf("read the manifest %s, which may be of this EtcdBackup: %w", name, err)
		}
	}
	if !o.Series {
		if err := snapshot.DropDrafts(ctx, store, o.Target.Key, o.mark()); err != nil {
			return removed, held, err
		}
		return removed, held, sweepUploads(ctx, store, prefix, func(key string, started time.Time) bool {
			return key == o.Target.Key && !started.Before(o.Since.Truncate(time.Second))
		})
	}
	removed, err = t.purgeLeftovers(ctx, o, store, series, removed)
	return removed, held, err
}

// purgeLeftovers deletes what killed operators of this EtcdBackup left. It fails while some of that is too young: the upload may
// be in progress. Other objects without a manifest are kept and reported. An unfinished upload has no draft, so it may be of
// another EtcdBackup or Kubernetes.
func (t *job) purgeLeftovers(ctx context.Context, o jobSpec, store objstore.Store, series snapshot.Series, removed Result) (Result, error) {
	if _, err := sweep(ctx, store, series, o.mark(), t.now().Add(-orphanAge), t.now().Add(-leftoverAge), true); err != nil {
		return removed, err
	}
	left, err := snapshot.FindLeftovers(ctx, store, series, o.mark(), endOfTime)
	if err != nil {
		return removed, err
	}
	if left.DeleteAll(); len(left.Delete) > 0 {
		return removed, fail(v1beta2.ReasonRemovingSnapshots, fmt.Sprintf(
			"Objects without a manifest that are younger than %s: %d, such as %s. An upload may be in progress. The operator deletes them when they are older.",
			orphanAge, len(left.Delete), left.Delete[0]))
	}
	removed.keep(o, left.Keep, series.Lives())
	return removed, nil
}

// endOfTime is after every time of a store.
var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
