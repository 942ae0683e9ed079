package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/volumes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// setAsideVolume gives a volume another label, so that it is no member's any more, and notes the time of the API server. If that refuses
// to answer, it notes the operator's. Who owns the volume does not change.
func (a *volumeActs) setAsideVolume(ctx context.Context, v *view.View, step steps.SetAsideVolume) error {
	volume := &corev1.PersistentVolumeClaim{}
	if err := a.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: step.Name}, volume); err != nil {
		return view.Wrap("read", volume, client.IgnoreNotFound(err))
	}
	if !v.Owns(volume) {
		return fmt.Errorf("PersistentVolumeClaim %s belongs to something else, so it is not changed", step.Name)
	}
	now, problem, err := a.times.ServerTime(ctx, v)
	if err != nil {
		return err
	}
	if problem != "" {
		now = v.Now
	}
	before := volume.DeepCopy()
	delete(volume.Labels, v1beta2.LabelCluster)
	metav1.SetMetaDataLabel(&volume.ObjectMeta, v1beta2.LabelReplacedOf, v.Name)
	metav1.SetMetaDataAnnotation(&volume.ObjectMeta, v1beta2.AnnotationReplacedAt, now.UTC().Format(time.RFC3339))
	return view.Wrap("patch", volume, a.Client.Patch(ctx, volume, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

// markReplaced writes down at each volume that a recovery continues without its data. If that fails for another reason than a change in between,
// the recovery continues, because no member serves, and the status has the same fact.
func (a *volumeActs) markReplaced(ctx context.Context, v *view.View, survivor string) error {
	var errs []error
	for _, name := range volumes.ReplacedByRecovery(v.State) {
		volume := &corev1.PersistentVolumeClaim{}
		if err := a.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, volume); err != nil {
			errs = append(errs, view.Wrap("read", volume, client.IgnoreNotFound(err)))
			continue
		}
		if !v.Owns(volume) {
			continue
		}
		before := volume.DeepCopy()
		metav1.SetMetaDataAnnotation(&volume.ObjectMeta, v1beta2.AnnotationRecoveredFrom, survivor)
		if at := v.Recovery.StartedAt; at != nil {
			metav1.SetMetaDataAnnotation(&volume.ObjectMeta, v1beta2.AnnotationRecoveryStartedAt, at.UTC().Format(time.RFC3339))
		}
		err := a.Client.Patch(ctx, volume, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) {
			errs = append(errs, view.Wrap("patch", volume, err))
		}
	}
	return errors.Join(errs...)
}

// unmarkVolume removes the mark of a recovery from the volume of a member that serves.
func (a *volumeActs) unmarkVolume(ctx context.Context, v *view.View, step steps.UnmarkVolume) error {
	volume := &corev1.PersistentVolumeClaim{}
	if err := a.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: step.Name}, volume); err != nil {
		return view.Wrap("read", volume, client.IgnoreNotFound(err))
	}
	if !v.Owns(volume) {
		return fmt.Errorf("PersistentVolumeClaim %s belongs to something else, so it is not changed", step.Name)
	}
	before := volume.DeepCopy()
	delete(volume.Annotations, v1beta2.AnnotationRecoveredFrom)
	delete(volume.Annotations, v1beta2.AnnotationRecoveryStartedAt)
	return view.Wrap("patch", volume, a.Client.Patch(ctx, volume, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}
