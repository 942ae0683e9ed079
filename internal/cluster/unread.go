package cluster

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// unreportedTimeout bounds the status write of a pass whose own time may be over.
const unreportedTimeout = 5 * time.Second

// reportUnread writes into the status that Kubernetes could not be read, so that the pass leaves a trace.
func (r *Reconciler) reportUnread(ctx context.Context, cluster *v1beta2.EtcdCluster, readErr error) error {
	if errors.Is(readErr, context.Canceled) {
		return readErr // the operator stops
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unreportedTimeout)
	defer cancel()
	after := cluster.DeepCopy()
	plan.NoteError(&after.Status, readErr.Error(), v1beta2.ReasonReconcileError, cluster.Generation, r.Now())
	if kube.Refused(readErr) {
		plan.NoteStalled(&after.Status, time.Time{}, cluster.Generation, r.Now())
	}
	_, err := kube.PatchStatus(ctx, r.Client, cluster, after)
	if apierrors.IsConflict(err) {
		err = nil // the next pass reports it
	}
	return errors.Join(readErr, client.IgnoreNotFound(err))
}
