package confirm

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

var (
	errNoLongerForced = errors.New("the recovery is at another step by now")
	errNoConsent      = errors.New("spec.recovery.quorumLoss does not allow it any more")
	errNotAlone       = errors.New("another Pod of the cluster exists")
)

// ConfirmForce reads past the cache. It returns an error unless the spec consents, the recovery is still at its first step, and the survivor
// is alone: on a cluster that has grown again the flag would remove the other members. A Pod that has ended cannot run again.
func (c *Confirmer) ConfirmForce(ctx context.Context, v *view.View, step steps.CreateMember) error {
	if step.Start != state.StartForce {
		return nil
	}
	var cluster v1beta2.EtcdCluster
	if err := c.APIReader.Get(ctx, client.ObjectKeyFromObject(v.Cluster), &cluster); err != nil {
		return fmt.Errorf("read EtcdCluster %s: %w", v.Name, err)
	}
	recovery := cluster.Status.Recovery
	if !cluster.Spec.ForcesNewCluster() {
		return fmt.Errorf("restart member %s with --force-new-cluster: %w", step.Name, errNoConsent)
	}
	if cluster.UID != v.UID || recovery == nil || recovery.Step != v1beta2.RecoveryForcing || recovery.ForcedAt == nil || recovery.Member != step.Name {
		return fmt.Errorf("restart member %s with --force-new-cluster: %w", step.Name, errNoLongerForced)
	}
	live, err := c.LivePods(ctx, v)
	if err != nil {
		return err
	}
	for i := range live {
		if pod := &live[i]; pod.Name != step.Name && v.Owns(pod) && !pods.ProvenEnded(pod) {
			return fmt.Errorf("restart member %s with --force-new-cluster: %s: %w", step.Name, pod.Name, errNotAlone)
		}
	}
	return nil
}
