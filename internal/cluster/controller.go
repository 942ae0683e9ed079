package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/failure"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/repair"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/queue"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// Reconcile does one pass: observe, plan, act, report.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, queue.PassTimeout)
	defer cancel()
	r.health.Pause(request.NamespacedName)
	var cluster v1beta2.EtcdCluster
	if err := r.Client.Get(ctx, request.NamespacedName, &cluster); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if pause := r.memory.Of(request.NamespacedName, cluster.UID).untilSeen(&cluster, r.Now()); pause > 0 {
		return ctrl.Result{RequeueAfter: pause}, nil
	}
	v, err := r.observer.Observe(ctx, &cluster, r.Now())
	if err != nil {
		return ctrl.Result{}, r.reportUnread(ctx, &cluster, fmt.Errorf("observe EtcdCluster %s: %w", request, err))
	}
	if v.Pending {
		return r.endPending(ctx, v)
	}
	r.metrics.Saw(v.State, cluster.Status)
	step, actErr := r.planAndAct(ctx, v)
	r.secrets.Doubt(v, step, cmp.Or(actErr, v.Obstructed), r.questions.Hangs)
	if repair.Whole(v.State) {
		r.brake.End(request.NamespacedName)
	}
	if errors.Is(actErr, view.ErrRemembered) {
		return r.endRemembered(ctx, v)
	}
	known := r.memory.OfView(v)
	known.unanswered = behind{}
	if errors.Is(actErr, view.ErrBehind) {
		return r.foundBehind(ctx, v, actErr)
	}
	step, actErr = failure.WithoutRefusals(v, step, actErr)
	v.Waits.Saw(plan.Waits(v.State, step), v.Now)
	known.failing.saw(failure.Of(v, step, actErr), v.Now)
	changed, err := r.report(ctx, v, step, actErr)
	if apierrors.IsConflict(err) && actErr == nil {
		// What was done stands, and the next pass sees it.
		return r.foundBehind(ctx, v, fmt.Errorf("EtcdCluster %s was changed: %w", v.Name, view.ErrBehind))
	}
	known.behind = behind{}
	if err != nil || actErr != nil {
		return ctrl.Result{}, errors.Join(v.Skipped, actErr, err)
	}
	if v.Skipped != nil && !steps.Acts(step) {
		return ctrl.Result{}, v.Skipped
	}
	r.rehearsals.RehearseAhead(ctx, v, step)
	acted, requeue := steps.Acts(step), steps.Describe(v.State, step).Requeue
	pace := r.paces.OfView(v)
	nearer := pace.Nearer(requeue)
	waited := pace.Waited(acted || changed || nearer, v.Now)
	return queue.Again(r.nextLook(v, step, pace.Repeated(step, requeue)), acted, v.ClusterID != "", waited), nil
}

// forget drops what is kept of an EtcdCluster that does not exist any more.
func (r *Reconciler) forget(cluster client.ObjectKey) {
	r.metrics.Forget(cluster)
	r.memory.Forget(cluster)
	r.paces.Forget(cluster)
	r.secrets.Forget(cluster)
	r.questions.Forget(cluster)
	r.rehearsals.Memory.Forget(cluster)
	r.times.Memory.Forget(cluster)
	r.observer.Memory.Forget(cluster)
	r.brake.End(cluster)
	r.health.Forget(cluster)
}
