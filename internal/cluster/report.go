package cluster

import (
	"cmp"
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/failure"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/space"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// noteStatus notes a status that was written.
func (r *Reconciler) noteStatus(v *view.View, after *v1beta2.EtcdCluster) {
	r.memory.OfView(v).wrote = ownStatus{at: r.Now(), version: after.ResourceVersion}
}

// report writes the status, if it changed, and then says in an event what was done. Where the cache was behind the error
// is a conflict, and nothing is written but what nothing else tells. It returns whether the status changed.
func (r *Reconciler) report(ctx context.Context, v *view.View, step steps.Step, actErr error) (changed bool, err error) {
	after := v.Cluster.DeepCopy()
	after.Status = plan.NewStatus(v.State, step, actErr, v.Cluster.Status, v.Cluster.Generation)
	if refused := failure.RefusalsOf(v); refused != nil {
		plan.NoteRefused(&after.Status, failure.RefusalText(refused), failure.ReasonOf(v, refused), v.Cluster.Generation, v.Now)
	}
	known := r.memory.OfView(v)
	if known.failing.tooLong(v.Now) {
		plan.NoteStalled(&after.Status, known.failing.since, v.Cluster.Generation, v.Now)
	}
	plan.KeepTransitions(&after.Status, v.Cluster.Status)
	r.metrics.Reported(v.State, after.Status)
	if saysLater(v, step, actErr, known.reported) {
		kube.PublishEvents(r.Events, after, plan.Events(v.State, step, nil, false))
		return false, nil
	}
	changed, err = kube.PatchStatus(ctx, r.Client, v.Cluster, after)
	if changed {
		known.reported = v.Now
	}
	if changed && actErr == nil && v.Skipped == nil {
		r.noteStatus(v, after)
	}
	if apierrors.IsConflict(err) && actErr == nil {
		return false, cmp.Or(r.remember(ctx, v, step), err)
	}
	if err != nil {
		kube.ReportRefusedStatus(r.Events, v.Cluster, err)
		return false, err
	}
	kube.PublishEvents(r.Events, after, plan.Events(v.State, step, actErr, changed))
	if refused := failure.RefusalsOf(v); refused != nil {
		kube.PublishEvents(r.Events, after, plan.RefusalEvents(failure.ReasonOf(v, refused), failure.RefusalText(refused), changed))
	}
	return changed, nil
}

// remember writes into the newest status what was done and can be seen nowhere else.
func (r *Reconciler) remember(ctx context.Context, v *view.View, step steps.Step) error {
	switch step.(type) {
	case steps.CompactHistory, steps.DefragmentMember, steps.RemoveMember:
	default:
		return nil
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var newest v1beta2.EtcdCluster
		if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(v.Cluster), &newest); err != nil {
			return client.IgnoreNotFound(err)
		}
		after := newest.DeepCopy()
		space.RecordSpace(&after.Status, v.State, step)
		membership.RecordRemoval(&after.Status, step)
		if _, err := kube.PatchStatus(ctx, r.Client, &newest, after); err != nil {
			return err
		}
		r.noteStatus(v, after)
		kube.PublishEvents(r.Events, after, plan.Events(v.State, step, nil, true))
		return nil
	})
}
