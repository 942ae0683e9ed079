package confirm

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// confirmService fails if the client Service is for another incarnation or cluster than the cache shows. An old cache would
// turn it away from the members, and it remembers the cluster's ID if the status is lost.
func (c *Confirmer) confirmService(ctx context.Context, v *view.View) error {
	var live corev1.Service
	err := c.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: v.ClientService()}, &live)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Service %s: %w", v.ClientService(), err)
	}
	if !metav1.IsControlledBy(&live, v.Cluster) {
		return nil // apply leaves it alone
	}
	if incarnation, id := objects.ServedBy(&live); incarnation != v.Services.ClientIncarnation || id != v.Services.ClientClusterID {
		return fmt.Errorf("the Service %s selects incarnation %d of cluster %q: %w", live.Name, incarnation, id, view.ErrBehind)
	}
	return nil
}
