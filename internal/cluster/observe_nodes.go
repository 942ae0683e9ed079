package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// observeZones reads in which zones the members run: from their Pods, which Kubernetes 1.35 gives the label, or from their
// Nodes. A Node is read once, because its zone does not change. Without the right to read it the zone is not known.
func (r *Reconciler) observeZones(ctx context.Context, v *view) error {
	for i := range v.Members {
		m := &v.Members[i]
		if m.Node == "" || m.Zone != "" {
			continue
		}
		zone, read := v.known.zones[m.Node]
		if !read {
			var node corev1.Node
			err := r.APIReader.Get(ctx, client.ObjectKey{Name: m.Node}, &node)
			if err != nil && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
				return fmt.Errorf("read Node %s: %w", m.Node, err)
			}
			zone = node.Labels[corev1.LabelTopologyZone]
			if v.known.zones == nil {
				v.known.zones = map[string]string{}
			}
			v.known.zones[m.Node] = zone
		}
		m.Zone = zone
	}
	return nil
}
