package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// zonePause is the pause between two reads of a Node without a zone.
const zonePause = time.Minute

// observeZones reads in which zones the members run: from their Pods, which Kubernetes 1.35 gives the label, or from their
// Nodes. A Node is read once, because its zone does not change. If it has none, it is read again after zonePause: the cloud
// may set the label some time after the Node joined. Without the right to read it the zone is not known.
func (r *Reconciler) observeZones(ctx context.Context, v *view) error {
	for i := range v.Members {
		m := &v.Members[i]
		if m.Node == "" || m.Zone != "" {
			continue
		}
		known, read := v.known.zones[m.Node]
		if !read || (known.zone == "" && v.Now.Sub(known.at) >= zonePause) {
			var node corev1.Node
			err := r.APIReader.Get(ctx, client.ObjectKey{Name: m.Node}, &node)
			if err != nil && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
				return fmt.Errorf("read Node %s: %w", m.Node, err)
			}
			known = knownZone{zone: node.Labels[corev1.LabelTopologyZone], at: v.Now}
			if v.known.zones == nil {
				v.known.zones = map[string]knownZone{}
			}
			v.known.zones[m.Node] = known
		}
		m.Zone = known.zone
	}
	return nil
}
