package cluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

var (
	errNoLongerForced = errors.New("the recovery is at another step by now")
	errNotAlone       = errors.New("another Pod of the cluster exists")
)

// confirmForce reads past the cache. It returns an error unless the recovery is still at its first step and the survivor
// is alone: on a cluster that has grown again the flag would remove the other members.
func (r *Reconciler) confirmForce(ctx context.Context, v *view, step plan.CreateMember) error {
	if step.Start != plan.StartForce {
		return nil
	}
	var cluster v1beta2.EtcdCluster
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(v.cluster), &cluster); err != nil {
		return fmt.Errorf("read EtcdCluster %s: %w", v.Name, err)
	}
	recovery := cluster.Status.Recovery
	if cluster.UID != v.UID || recovery == nil || recovery.Step != v1beta2.RecoveryForcing || recovery.ForcedAt == nil || recovery.Member != step.Name {
		return fmt.Errorf("restart member %s with --force-new-cluster: %w", step.Name, errNoLongerForced)
	}
	var pods corev1.PodList
	if err := r.APIReader.List(ctx, &pods, client.InNamespace(v.Namespace)); err != nil { // all: a Pod can lose its labels
		return fmt.Errorf("list Pods of EtcdCluster %s: %w", v.Name, err)
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.Name != step.Name && v.owns(pod) {
			return fmt.Errorf("restart member %s with --force-new-cluster: %s: %w", step.Name, pod.Name, errNotAlone)
		}
	}
	return nil
}
