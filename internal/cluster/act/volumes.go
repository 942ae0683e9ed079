package act

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
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// actOnVolumes does the steps that create, change or delete volumes of members.
func (a *volumeActs) actOnVolumes(ctx context.Context, v *view.View, step steps.Step) error {
	switch step := step.(type) {
	case steps.CreateVolumes:
		return a.createVolumes(ctx, v, step)
	case steps.KeepVolume:
		return a.keepVolume(ctx, v, step)
	case steps.ResizeVolume:
		return a.resizeVolume(ctx, v, step)
	case steps.SetAsideVolume:
		return a.setAsideVolume(ctx, v, step)
	case steps.UnmarkVolume:
		return a.unmarkVolume(ctx, v, step)
	case steps.DeleteVolume:
		return a.delete(ctx, v, &corev1.PersistentVolumeClaim{}, step.Name)
	case steps.RecordForcing:
		return a.markReplaced(ctx, v, step.Member)
	case steps.RecordForced: // a claim may have come back since
		return a.markReplaced(ctx, v, v.Recovery.Member)
	default:
		return fmt.Errorf("step %T is not about volumes", step)
	}
}

func (a *volumeActs) createVolumes(ctx context.Context, v *view.View, step steps.CreateVolumes) error {
	var errs []error
	for _, name := range state.InitialNames(v.State, step.Incarnation, step.Size) {
		member := steps.CreateMember{Name: name, Incarnation: step.Incarnation, InitialSize: step.Size}
		errs = append(errs, a.create(ctx, v, pods.NewVolume(v.State, member)))
	}
	return errors.Join(errs...)
}

// keepVolume removes or adds a volume's owner reference, so that it is kept or deleted with the EtcdCluster. The annotation
// with the UID is kept.
func (a *volumeActs) keepVolume(ctx context.Context, v *view.View, step steps.KeepVolume) error {
	volume := &corev1.PersistentVolumeClaim{}
	if err := a.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: step.Name}, volume); err != nil {
		return view.Wrap("read", volume, client.IgnoreNotFound(err))
	}
	if !v.Owns(volume) {
		return fmt.Errorf("PersistentVolumeClaim %s is not changed, because this EtcdCluster does not own it", step.Name)
	}
	before := volume.DeepCopy()
	metav1.SetMetaDataAnnotation(&volume.ObjectMeta, v1beta2.AnnotationClusterUID, string(v.UID))
	if step.Keep {
		volume.OwnerReferences = slices.DeleteFunc(volume.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == v.UID })
	} else if err := controllerutil.SetControllerReference(v.Cluster, volume, a.Client.Scheme()); err != nil {
		return fmt.Errorf("set the owner of PersistentVolumeClaim %s: %w", step.Name, err)
	}
	return view.Wrap("patch", volume, a.Client.Patch(ctx, volume, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

func (a *volumeActs) resizeVolume(ctx context.Context, v *view.View, step steps.ResizeVolume) error {
	volume := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: step.Name}}
	patch := fmt.Appendf(nil, `{"spec":{"resources":{"requests":{"storage":%q}}}}`, step.Size)
	err := a.Client.Patch(ctx, volume, client.RawPatch("application/merge-patch+json", patch))
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		a.refusals.Note(client.ObjectKey{Namespace: v.Namespace, Name: step.Name}, step.Size, planning.Shorten(err.Error(), 300), v.Now)
	}
	return view.Wrap("grow", volume, client.IgnoreNotFound(err))
}
