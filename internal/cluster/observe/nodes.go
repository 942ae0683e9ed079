package observe

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// zonePause is the pause between two reads of a Node without a zone.
const zonePause = time.Minute

func (z *zones) of(node string) (known knownZone, read bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	known, read = z.known[node]
	return known, read
}

func (z *zones) note(node string, known knownZone) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.known == nil {
		z.known = map[string]knownZone{}
	}
	z.known[node] = known
}

// observeZones reads in which zones the members run: from their Pods, which Kubernetes 1.35 gives the label, or from their
// Nodes. A Node is read once, because its zone does not change. If it has none, it is read again after zonePause: the cloud
// may set the label some time after the Node joined. Without the right to read it the zone is not known.
func (o *Observer) observeZones(ctx context.Context, v *view.View) error {
	for i := range v.Members {
		m := &v.Members[i]
		if m.Node == "" || m.Zone != "" {
			continue
		}
		known, read := o.zones.of(m.Node)
		if !read || (known.zone == "" && v.Now.Sub(known.at) >= zonePause) {
			var node corev1.Node
			err := o.APIReader.Get(ctx, client.ObjectKey{Name: m.Node}, &node)
			if err != nil && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
				return fmt.Errorf("read Node %s: %w", m.Node, err)
			}
			known = knownZone{zone: node.Labels[corev1.LabelTopologyZone], at: v.Now}
			o.zones.note(m.Node, known)
		}
		m.Zone = known.zone
	}
	return nil
}
