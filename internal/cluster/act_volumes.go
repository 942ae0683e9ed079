package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// actOnVolumes does the steps that create, change or delete volumes of members.
func (r *Reconciler) actOnVolumes(ctx context.Context, v *view, step plan.Step) error {
	switch step := step.(type) {
	case plan.CreateVolumes:
		return r.createVolumes(ctx, v, step)
	case plan.KeepVolume:
		return r.keepVolume(ctx, v, step)
	case plan.ResizeVolume:
		return r.resizeVolume(ctx, v, step)
	case plan.SetAsideVolume:
		return r.setAsideVolume(ctx, v, step)
	case plan.UnmarkVolume:
		return r.unmarkVolume(ctx, v, step)
	case plan.DeleteVolume:
		return r.delete(ctx, v, &corev1.PersistentVolumeClaim{}, step.Name)
	case plan.RecordForcing:
		return r.markReplaced(ctx, v, step.Member)
	case plan.RecordForced: // a claim may have come back since
		return r.markReplaced(ctx, v, v.Recovery.Member)
	default:
		return fmt.Errorf("step %T is not about volumes", step)
	}
}

func (r *Reconciler) createVolumes(ctx context.Context, v *view, step plan.CreateVolumes) error {
	var errs []error
	for _, name := range v.InitialNames(step.Incarnation, step.Size) {
		member := plan.CreateMember{Name: name, Incarnation: step.Incarnation, InitialSize: step.Size}
		errs = append(errs, r.create(ctx, v, newVolume(v.State, member)))
	}
	return errors.Join(errs...)
}

// keepVolume removes or adds a volume's owner reference, so that it is kept or deleted with the EtcdCluster. The annotation
// with the UID is kept.
func (r *Reconciler) keepVolume(ctx context.Context, v *view, step plan.KeepVolume) error {
	volume := &corev1.PersistentVolumeClaim{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: step.Name}, volume); err != nil {
		return wrap("read", volume, client.IgnoreNotFound(err))
	}
	if !v.owns(volume) {
		return fmt.Errorf("PersistentVolumeClaim %s is not changed, because this EtcdCluster does not own it", step.Name)
	}
	before := volume.DeepCopy()
	metav1.SetMetaDataAnnotation(&volume.ObjectMeta, v1beta2.AnnotationClusterUID, string(v.UID))
	if step.Keep {
		volume.OwnerReferences = slices.DeleteFunc(volume.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == v.UID })
	} else if err := controllerutil.SetControllerReference(v.cluster, volume, r.Client.Scheme()); err != nil {
		return fmt.Errorf("set the owner of PersistentVolumeClaim %s: %w", step.Name, err)
	}
	return wrap("patch", volume, r.Client.Patch(ctx, volume, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

func (r *Reconciler) resizeVolume(ctx context.Context, v *view, step plan.ResizeVolume) error {
	volume := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: step.Name}}
	patch := fmt.Appendf(nil, `{"spec":{"resources":{"requests":{"storage":%q}}}}`, step.Size)
	err := r.Client.Patch(ctx, volume, client.RawPatch("application/merge-patch+json", patch))
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		r.refusals.note(client.ObjectKey{Namespace: v.Namespace, Name: step.Name}, step.Size, planning.Shorten(err.Error(), 300), v.Now)
	}
	return wrap("grow", volume, client.IgnoreNotFound(err))
}
