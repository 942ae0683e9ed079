// Package confirm reads past the cache, directly before a step, whether what the step depends on still holds.
package confirm

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// Confirm reads past the cache, before a step that needs it, whether the EtcdCluster is still what the step was planned on.
func (c *Confirmer) Confirm(ctx context.Context, v *view.View, step steps.Step) error {
	if !steps.Confirmed(v.State, step) {
		return nil
	}
	var live v1beta2.EtcdCluster
	err := c.APIReader.Get(ctx, client.ObjectKeyFromObject(v.Cluster), &live)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("EtcdCluster %s is deleted: %w", v.Name, view.ErrBehind)
	}
	if err != nil {
		return fmt.Errorf("read EtcdCluster %s: %w", v.Name, err)
	}
	if live.Labels[v1beta2.LabelShard] != c.Shard {
		return fmt.Errorf("EtcdCluster %s belongs to another operator: %w", v.Name, view.ErrBehind)
	}
	if changed := plan.Outdated(v.Cluster, &live); changed != "" {
		return fmt.Errorf("%s of EtcdCluster %s has changed: %w", changed, v.Name, view.ErrBehind)
	}
	switch step := step.(type) {
	case steps.BeginSwitch:
		return c.confirmRestore(ctx, v)
	case steps.DefragmentMember:
		if plan.DefragmentedSince(v.Cluster, &live, step.Name) {
			return fmt.Errorf("member %s was defragmented: %w", step.Name, view.ErrBehind)
		}
	}
	return nil
}
