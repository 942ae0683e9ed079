package observe

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// ObserveSetAside reads the volumes that were set aside.
func (o *Observer) ObserveSetAside(ctx context.Context, v *view.View) error {
	volumes, err := o.ListIndexed(ctx, v, &corev1.PersistentVolumeClaimList{}, kubecache.KeyOfReplaced(v.Name))
	if err != nil {
		return err
	}
	for _, object := range volumes {
		volume, isVolume := object.(*corev1.PersistentVolumeClaim)
		since, ok := view.SetAsideSince(object)
		if !ok || !isVolume || volume.Labels[v1beta2.LabelReplacedOf] != v.Name || !v.Owns(volume) {
			continue
		}
		services.NoteMetadata(&v.State, "PersistentVolumeClaim", volume.Name, volume)
		v.SetAside = append(v.SetAside, state.SetAside{Name: volume.Name, Since: since, Deleting: !volume.DeletionTimestamp.IsZero(), Kept: metav1.GetControllerOf(volume) == nil})
	}
	slices.SortFunc(v.SetAside, func(a, b state.SetAside) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}
