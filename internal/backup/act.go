package backup

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// act does the step's one effect. It never waits.
func (r *Reconciler) act(ctx context.Context, backup *v1beta2.EtcdBackup, s State, step Step) error {
	switch step := step.(type) {
	case RemoveFinalizer:
		return r.removeFinalizer(ctx, backup)
	case Cancel:
		r.attempts.forget(keyOf(backup))
	case TakeSnapshot:
		return r.takeSnapshot(ctx, backup, s, step)
	}
	return nil
}

// settle is what may be done only when the status was written: a result that it tells of is no longer needed.
func (r *Reconciler) settle(backup *v1beta2.EtcdBackup, s State, step Step) {
	if _, ok := step.(Report); ok {
		r.metrics.ended(s)
		r.attempts.forget(keyOf(backup))
	}
}

func (r *Reconciler) removeFinalizer(ctx context.Context, backup *v1beta2.EtcdBackup) error {
	before := backup.DeepCopy()
	controllerutil.RemoveFinalizer(backup, finalizer)
	if err := r.client.Patch(ctx, backup, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("remove finalizer %s of EtcdBackup %s/%s: %w", finalizer, backup.Namespace, backup.Name, err)
	}
	return nil
}

// takeSnapshot only starts an attempt.
func (r *Reconciler) takeSnapshot(ctx context.Context, backup *v1beta2.EtcdBackup, s State, step TakeSnapshot) error {
	log := ctrl.LoggerFrom(ctx)
	o := orderOf(s)
	t := &tracker{generation: s.Generation, number: step.Number, startedAt: s.Now}
	started := r.attempts.start(keyOf(backup), t, func(ctx context.Context, t *tracker) Result {
		return r.attempt(ctrl.LoggerInto(ctx, log), o, t)
	})
	if !started {
		return fmt.Errorf("start attempt %d: the operator is stopping", step.Number)
	}
	return nil
}
