package backup

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
)

// act does the one effect of the step. It never waits.
func (r *Reconciler) act(ctx context.Context, backup *v1beta2.EtcdBackup, s State, step Step) error {
	switch step := step.(type) {
	case RemoveFinalizer:
		return r.removeFinalizer(ctx, backup, finalizer)
	case Hold:
		return r.addFinalizer(ctx, backup, v1beta2.FinalizerSnapshots)
	case Release:
		return r.removeFinalizer(ctx, backup, v1beta2.FinalizerSnapshots)
	case Expire:
		return r.expire(ctx, backup)
	case Cancel:
		r.attempts.forget(keyOf(backup))
	case TakeSnapshot:
		return r.begin(ctx, backup, s, KindSnapshot, step.Number)
	case Drill:
		return r.begin(ctx, backup, s, KindDrill, step.Number)
	case Purge:
		return r.begin(ctx, backup, s, KindPurge, step.Number)
	case Copy:
		return r.begin(ctx, backup, s, KindCopy, step.Number)
	case CancelCopy:
		r.copies.forget(keyOf(backup))
	case Prune:
		return r.begin(ctx, backup, s, KindPrune, 1)
	case Idle, Report, ReportCopy, Watch, Refuse, Finished, Suspended, Wait, Backoff, Scheduled:
	default:
		return fmt.Errorf("unknown step %T", step)
	}
	return nil
}

// settle drops the result of an attempt. It is called after the status that contains the result was written.
func (r *Reconciler) settle(backup *v1beta2.EtcdBackup, s State, step Step) {
	_, reported := step.(Report)
	_, released := step.(Release)
	if reported {
		r.metrics.ended(s)
		if s.Attempt.Result.Snapshot != nil || s.Attempt.Result.Proof != nil || s.rejudged(s.Attempt.Result.Drill) {
			r.archives.taken(keyOf(backup))
		}
	}
	if _, copied := step.(ReportCopy); copied {
		r.metrics.copied(s)
		r.copies.forget(keyOf(backup))
	}
	if reported || released {
		r.attempts.forget(keyOf(backup))
	}
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
func (r *Reconciler) begin(ctx context.Context, backup *v1beta2.EtcdBackup, s State, kind Kind, number int32) error {
	log := ctrl.LoggerFrom(ctx)
	o := jobSpecOf(s)
	o.Kind = kind
	t := &jobProgress{kind: kind, request: o.Request, base: o.Base, generation: s.Generation, number: number, startedAt: s.Now}
	t.based = func(base archive.Base) {
		r.archives.give(keyOf(backup), o.Base, base)
		r.archives.taken(keyOf(backup))
	}
	pool := r.attempts
	if kind == KindCopy {
		pool = r.copies
	}
	started := pool.start(keyOf(backup), r.limits.claim(o), t, func(ctx context.Context, t *jobProgress) Result {
		r.metrics.waited.WithLabelValues(laneOf[kind]).Observe(t.begin(r.now()).Seconds())
		return r.attempt(ctrl.LoggerInto(ctx, log), o, t)
	})
	if !started {
		return fmt.Errorf("start attempt %d: the operator is stopping", number)
	}
	return nil
}
