package cluster

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// foundBehind ends a pass that found the cache behind. A watch mostly ends that within a second. If it lasts, the status
// reports it: until then the operator does nothing, and nothing else would show why.
func (r *Reconciler) foundBehind(ctx context.Context, v *view.View, what error) (ctrl.Result, error) {
	b := &r.memory.OfView(v).behind
	again := ctrl.Result{RequeueAfter: b.found(v.Now)}
	log.FromContext(ctx).V(1).Info("the cache was behind, nothing was done", "cause", what)
	if v.Now.Sub(b.since) < behindGrace {
		return again, nil
	}
	if b.what == "" {
		b.what = strings.TrimSuffix(what.Error(), ": "+view.ErrBehind.Error())
	}
	return again, r.reportWait(ctx, v, plan.CacheBehind(b.what, b.since))
}

// reportWait writes why passes take no step into the live EtcdCluster, because the cached one may be behind.
func (r *Reconciler) reportWait(ctx context.Context, v *view.View, wait steps.Wait) error {
	var live v1beta2.EtcdCluster
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(v.Cluster), &live); err != nil {
		return client.IgnoreNotFound(err)
	}
	after := live.DeepCopy()
	plan.NoteBehind(&after.Status, wait, live.Generation, v.Now)
	changed, err := kube.PatchStatus(ctx, r.Client, &live, after)
	if apierrors.IsConflict(err) {
		return nil // the next pass reports it
	}
	if err == nil && changed {
		kube.PublishEvents(r.Events, after, plan.Events(v.State, wait, nil, true))
	}
	return err
}
