package backup

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// act does the one effect of the step. It never waits.
func (r *Reconciler) act(ctx context.Context, backup *v1beta2.EtcdBackup, s state.State, step plan.Step) error {
	switch step := step.(type) {
	case plan.RemoveFinalizer:
		return r.removeFinalizer(ctx, backup, finalizer)
	case plan.Hold:
		return r.addFinalizer(ctx, backup, v1beta2.FinalizerSnapshots)
	case plan.Release:
		return r.removeFinalizer(ctx, backup, v1beta2.FinalizerSnapshots)
	case plan.Expire:
		return r.expire(ctx, backup)
	case plan.Cancel:
		r.attempts.Forget(keyOf(backup))
	case plan.TakeSnapshot:
		return r.begin(ctx, backup, s, state.KindSnapshot, step.Number)
	case plan.Drill:
		return r.begin(ctx, backup, s, state.KindDrill, step.Number)
	case plan.Purge:
		return r.begin(ctx, backup, s, state.KindPurge, step.Number)
	case plan.Copy:
		return r.begin(ctx, backup, s, state.KindCopy, step.Number)
	case plan.CancelCopy:
		r.copies.Forget(keyOf(backup))
	case plan.Prune:
		return r.begin(ctx, backup, s, state.KindPrune, 1)
	case plan.Idle, plan.Report, plan.ReportCopy, plan.Watch, plan.Refuse, plan.Finished, plan.Suspended, plan.Wait, plan.Backoff, plan.Scheduled:
	default:
		return fmt.Errorf("unknown step %T", step)
	}
	return nil
}

// settle drops the result of an attempt. It is called after the status that contains the result was written.
func (r *Reconciler) settle(backup *v1beta2.EtcdBackup, s state.State, step plan.Step) {
	_, reported := step.(plan.Report)
	_, released := step.(plan.Release)
	if reported {
		r.metrics.ended(s)
		if s.Attempt.Result.Snapshot != nil || s.Attempt.Result.Proof != nil || rejudged(s.Status.LastDrill, s.Attempt.Result.Drill) {
			r.archives.Taken(keyOf(backup))
		}
	}
	if _, copied := step.(plan.ReportCopy); copied {
		r.metrics.copied(s)
		r.copies.Forget(keyOf(backup))
	}
	if reported || released {
		r.attempts.Forget(keyOf(backup))
	}
}

// rejudged returns whether a restore test has found a bad snapshot, or a good one after a bad one. Then the archive has other bases.
func rejudged(before, drill *v1beta2.BackupDrill) bool {
	switch {
	case drill == nil:
		return false
	case before == nil:
		return drill.Result == v1beta2.DrillFailed
	case drill.Result == v1beta2.DrillFailed:
		return before.Result != drill.Result || before.Path != drill.Path
	}
	return before.Result == v1beta2.DrillFailed
}

func (r *Reconciler) addFinalizer(ctx context.Context, backup *v1beta2.EtcdBackup, name string) error {
	before := backup.DeepCopy()
	controllerutil.AddFinalizer(backup, name)
	if err := r.client.Patch(ctx, backup, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("add finalizer %s to EtcdBackup %s/%s: %w", name, backup.Namespace, backup.Name, err)
	}
	return nil
}

func (r *Reconciler) removeFinalizer(ctx context.Context, backup *v1beta2.EtcdBackup, name string) error {
	before := backup.DeepCopy()
	controllerutil.RemoveFinalizer(backup, name)
	if err := r.client.Patch(ctx, backup, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("remove finalizer %s from EtcdBackup %s/%s: %w", name, backup.Namespace, backup.Name, err)
	}
	return nil
}

// expire deletes the EtcdBackup, unless it has changed since it was observed.
func (r *Reconciler) expire(ctx context.Context, backup *v1beta2.EtcdBackup) error {
	preconditions := client.Preconditions{UID: &backup.UID, ResourceVersion: &backup.ResourceVersion}
	if err := r.client.Delete(ctx, backup, preconditions); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete EtcdBackup %s/%s, whose ttlSecondsAfterFinished is over: %w", backup.Namespace, backup.Name, err)
	}
	return nil
}

// begin queues an attempt, which then runs in a worker.
func (r *Reconciler) begin(ctx context.Context, backup *v1beta2.EtcdBackup, s state.State, kind state.Kind, number int32) error {
	log := ctrl.LoggerFrom(ctx)
	o := state.JobSpecOf(s)
	o.Kind = kind
	t := &queue.Progress{Kind: kind, Request: o.Request, Base: o.Base, Generation: s.Generation, Number: number, StartedAt: s.Now}
	t.Based = func(base archive.Base) {
		r.archives.Give(keyOf(backup), o.Base, base)
		r.archives.Taken(keyOf(backup))
	}
	pool := r.attempts
	if kind == state.KindCopy {
		pool = r.copies
	}
	started := pool.Start(keyOf(backup), r.limits.Claim(o), t, func(ctx context.Context, t *queue.Progress) state.Result {
		r.metrics.waited.WithLabelValues(queue.LaneOf[kind]).Observe(t.Begin(r.now()).Seconds())
		return r.attempt(ctrl.LoggerInto(ctx, log), o, t)
	})
	if !started {
		return fmt.Errorf("start attempt %d: the operator is stopping", number)
	}
	return nil
}
