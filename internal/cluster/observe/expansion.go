package observe

import (
	"context"
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// observeExpansion looks, where a volume has to grow, whether its StorageClass lets it. Without the right to look it
// is taken to: the API server then refuses what it does not.
func (o *Observer) observeExpansion(ctx context.Context, v *view.View) error {
	want := state.StorageRequest(v.State)
	grows := false
	for i := range v.Members {
		m := &v.Members[i]
		m.VolumeRefused = o.Refusals.Of(client.ObjectKey{Namespace: v.Namespace, Name: m.Name}, want.String(), v.Now)
		grows = grows || (m.VolumeSize > 0 && m.VolumeSize < want.Value())
	}
	if !grows {
		return nil
	}
	var classes storagev1.StorageClassList
	if err := o.APIReader.List(ctx, &classes); err != nil {
		if apierrors.IsForbidden(err) {
			return nil
		}
		return fmt.Errorf("list StorageClasses: %w", err)
	}
	allowed := map[string]bool{}
	for _, class := range classes.Items {
		allowed[class.Name] = ptr.Deref(class.AllowVolumeExpansion, false)
	}
	for i := range v.Members {
		v.Members[i].VolumeFixed = !allowed[v.Classes[v.Members[i].Name]]
	}
	return nil
}
