package backup

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/copying"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/status"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Reconcile does one pass: observe, plan, act and report.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	backup, state, err := r.observe(ctx, request.NamespacedName)
	if apierrors.IsNotFound(err) {
		r.attempts.ForgetOthers(request.NamespacedName, "")
		r.copies.ForgetOthers(request.NamespacedName, "")
		r.archives.ForgetOthers(request.NamespacedName, "")
		r.metrics.forget(request.NamespacedName)
		r.deletions.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	r.attempts.ForgetOthers(request.NamespacedName, state.UID)
	r.copies.ForgetOthers(request.NamespacedName, state.UID)
	r.archives.ForgetOthers(request.NamespacedName, state.UID)
	if state.Recovering() {
		r.archives.Drain(keyOf(backup))
	} else {
		r.archives.Set(keyOf(backup), archiving.SpecOf(state))
	}
	r.archives.SetCopy(keyOf(backup), copying.SpecOf(state))
	r.metrics.proven(state)
	step, rule := plan.Plan(state)
	description := plan.Describe(step, state)
	ctrl.LoggerFrom(ctx).V(1).Info("Planned the next step", "rule", rule, "step", fmt.Sprintf("%T", step))
	if counted(step) {
		// The count is in the status before the attempt starts. If the attempt ends this process, the next one waits.
		return r.reportAndAct(ctx, backup, state, step, description)
	}
	actErr := r.act(ctx, backup, state, step)
	if last(state, step) && actErr == nil {
		r.settle(backup, state, step)
		kube.PublishEvents(r.events, backup, description.Events)
		return reconcile.Result{}, nil // the EtcdBackup may not exist any more
	}
	changed, requeue, err := r.report(ctx, backup, state, step, actErr)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: plan.AtOnce}, nil // the next pass decides on the newer object
	}
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	r.settle(backup, state, step)
	if changed && actErr == nil {
		kube.PublishEvents(r.events, backup, description.Events)
	}
	if actErr != nil {
		return reconcile.Result{}, actErr
	}
	return reconcile.Result{RequeueAfter: cmp.Or(requeue, plan.Soonest(state, description.Requeue))}, nil
}

// counted returns whether the step starts an attempt.
func counted(step plan.Step) bool {
	switch step.(type) {
	case plan.TakeSnapshot, plan.Drill, plan.Purge, plan.Copy:
		return true
	}
	return false
}

// reportAndAct starts an attempt after it has written the status that counts it.
func (r *Reconciler) reportAndAct(ctx context.Context, backup *v1beta2.EtcdBackup, s state.State, step plan.Step, d planning.Description) (reconcile.Result, error) {
	_, requeue, err := r.report(ctx, backup, s, step, nil)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: plan.AtOnce}, nil
	}
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if err := r.act(ctx, backup, s, step); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: cmp.Or(requeue, plan.Soonest(s, d.Requeue))}, nil
}

// last returns whether the EtcdBackup may not exist any more after the step.
func last(s state.State, step plan.Step) bool {
	_, removed := step.(plan.RemoveFinalizer)
	_, released := step.(plan.Release)
	_, expired := step.(plan.Expire)
	return expired || s.Deleting && (removed || released)
}

// report writes the status. It asks for the next pass at once if the status names another switchover: the archiver gets that from a status which was written, and its clients
// wait. A status alone causes no pass.
func (r *Reconciler) report(ctx context.Context, backup *v1beta2.EtcdBackup, s state.State, step plan.Step, err error) (changed bool, requeue time.Duration, _ error) {
	after := backup.DeepCopy()
	if kube.Refused(err) {
		err = status.Refusal(kube.RefusalMessage(err))
	}
	after.Status = status.NewStatus(s, step, err)
	before := backup.Status.DeepCopy()
	r.metrics.reported(s, after.Status)
	changed, err = kube.PatchStatus(ctx, r.client, backup, after)
	if err != nil {
		kube.ReportRefusedStatus(r.events, backup, err)
	}
	if changed && err == nil {
		if switchoverID(*before) != switchoverID(after.Status) {
			requeue = plan.AtOnce
		}
		kube.PublishEvents(r.events, backup, status.ArchiveEvents(*before, after.Status, s.Archive))
		kube.PublishEvents(r.events, backup, status.SwitchoverEvents(*before, after.Status))
		kube.PublishEvents(r.events, backup, status.CopyEvents(*before, after.Status))
		kube.PublishEvents(r.events, backup, status.ArchiveCopyEvents(*before, after.Status))
	}
	return changed, requeue, err
}

func switchoverID(s v1beta2.EtcdBackupStatus) string {
	if s.Switchover == nil {
		return ""
	}
	return s.Switchover.ID
}
