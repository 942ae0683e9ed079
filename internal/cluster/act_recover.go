package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

var (
	errNoLongerForced = errors.New("the recovery is at another step by now")
	errNoConsent      = errors.New("spec.recovery.quorumLoss does not allow it any more")
	errNotAlone       = errors.New("another Pod of the cluster exists")
)

// confirmForce reads past the cache. It returns an error unless the spec consents, the recovery is still at its first step, and the survivor
// is alone: on a cluster that has grown again the flag would remove the other members. A Pod that has ended cannot run again.
func (r *Reconciler) confirmForce(ctx context.Context, v *view, step plan.CreateMember) error {
	if step.Start != plan.StartForce {
		return nil
	}
	var cluster v1beta2.EtcdCluster
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(v.cluster), &cluster); err != nil {
		return fmt.Errorf("read EtcdCluster %s: %w", v.Name, err)
	}
	recovery := cluster.Status.Recovery
	if !cluster.Spec.ForcesNewCluster() {
		return fmt.Errorf("restart member %s with --force-new-cluster: %w", step.Name, errNoConsent)
	}
	if cluster.UID != v.UID || recovery == nil || recovery.Step != v1beta2.RecoveryForcing || recovery.ForcedAt == nil || recovery.Member != step.Name {
		return fmt.Errorf("restart member %s with --force-new-cluster: %w", step.Name, errNoLongerForced)
	}
	pods, err := r.livePods(ctx, v)
	if err != nil {
		return err
	}
	for i := range pods {
		if pod := &pods[i]; pod.Name != step.Name && v.owns(pod) && !provenEnded(pod) {
			return fmt.Errorf("restart member %s with --force-new-cluster: %s: %w", step.Name, pod.Name, errNotAlone)
		}
	}
	return nil
}

// provenEnded reports whether all containers of a Pod have ended for good, as its kubelet has seen. If its node does not exist, the garbage
// collector of Kubernetes sets the phase, and a process may still run there.
func provenEnded(pod *corev1.Pod) bool {
	runs := func(c corev1.ContainerStatus) bool { return c.State.Terminated == nil }
	return hasEnded(pod) && len(pod.Status.ContainerStatuses) > 0 && !slices.ContainsFunc(pod.Status.ContainerStatuses, runs)
}
