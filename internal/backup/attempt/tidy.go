package attempt

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/retention"
)

// tidy deletes the snapshots that retention does not keep, and once an hour the leftovers of killed operators. Its errors
// do not fail the attempt.
func (t *Job) tidy(ctx context.Context, o state.JobSpec, s stored, saved string, result *state.Result) {
	if why, err := verify.ArchiveHolds(ctx, o, s.store); why != "" || err != nil {
		result.Kept = t.kept(ctx, o, s, nil)
		if blame(result, o, err); err == nil {
			result.PruneReason, result.PruneProblem = v1beta2.ReasonSnapshotsKept, why
		}
		return
	}
	keep := o.Keep
	keep.Now, keep.Saved, keep.Signers = t.Now(), saved, s.signers
	if keep.Within > 0 && s.ahead != nil {
		keep.Ahead = *s.ahead
	}
	decision, err := retention.Retain(ctx, s.store, s.series, s.index, s.known, keep)
	blame(result, o, err)
	deleted, restored, err := t.pruneUnneeded(ctx, o, s, decision.Delete)
	blame(result, o, err)
	if restored != "" {
		decision.Notices = append(decision.Notices, restored)
	}
	result.Pruned, result.Kept = len(deleted), t.kept(ctx, o, s, deleted)
	if result.PruneProblem == "" && len(decision.Notices) > 0 {
		result.PruneReason, result.PruneProblem = v1beta2.ReasonSnapshotsKept, state.Clip(strings.Join(decision.Notices, " "))
	}
	if hour := time.Hour; s.ahead == nil || s.previous.Truncate(hour).Equal(t.Now().Truncate(hour)) {
		return
	}
	before := t.Now().Add(-max(*s.ahead, 0) - max(LeftoverAge, 2*o.Timeout)) // by the clock of the store
	left, err := sweep(ctx, s.store, s.series, o.AttemptPrefix(), before, before, false)
	blame(result, o, err)
	kept, err := s.finish(ctx, o, left)
	blame(result, o, err)
	reportKept(result, o, kept, s.series.Lives())
}

// pruneSuspended deletes the snapshots of a suspended series that retention does not keep. It asks no member: the series is
// that of the newest snapshot.
func (t *Job) pruneSuspended(ctx context.Context, o state.JobSpec, progress *queue.Progress) (state.Result, error) {
	progress.Stage("deleting old snapshots")
	id, err := strconv.ParseUint(o.Newest.ClusterID, 16, 64)
	if err != nil {
		return state.Result{}, fmt.Errorf("the cluster ID of the newest snapshot is %q: %w", o.Newest.ClusterID, err)
	}
	store, err := t.Store(ctx, o)
	if err != nil {
		return state.Result{}, err
	}
	series := o.SeriesOf(etcd.ID(id))
	_, signers, err := t.Signing(ctx, o)
	if err != nil {
		return state.Result{}, err
	}
	index, err := catalog.Scan(ctx, store, series.Prefix())
	if err != nil {
		return state.Result{}, err
	}
	ahead, err := measureAhead(ctx, store, series, o.UID, t.Now)
	if err != nil {
		return state.Result{}, err
	}
	var result state.Result
	t.tidy(ctx, o, stored{store: store, series: series, index: index, known: catalog.Known{}, signers: signers, ahead: ahead}, "", &result)
	return result, nil
}
