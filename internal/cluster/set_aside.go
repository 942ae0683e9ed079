package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// setAsideVolume gives a volume another label, so that it is no member's any more, and notes the time of the API server. If that refuses
// to answer, it notes the operator's. Who owns the volume does not change.
func (r *Reconciler) setAsideVolume(ctx context.Context, v *view, step plan.SetAsideVolume) error {
	volume := &corev1.PersistentVolumeClaim{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: step.Name}, volume); err != nil {
		return wrap("read", volume, client.IgnoreNotFound(err))
	}
	if !v.owns(volume) {
		return fmt.Errorf("PersistentVolumeClaim %s belongs to something else, so it is not changed", step.Name)
	}
	now, problem, err := r.serverTime(ctx, v)
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
	return wrap("patch", volume, r.Client.Patch(ctx, volume, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

// markReplaced writes down at each volume that a recovery continues without its data. If that fails for another reason than a change in between,
// the recovery continues, because no member serves, and the status has the same fact.
func (r *Reconciler) markReplaced(ctx context.Context, v *view, survivor string) error {
	var errs []error
	for _, name := range v.ReplacedByRecovery() {
		volume := &corev1.PersistentVolumeClaim{}
		if err := r.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, volume); err != nil {
			errs = append(errs, wrap("read", volume, client.IgnoreNotFound(err)))
			continue
		}
		if !v.owns(volume) {
			continue
		}
		before := volume.DeepCopy()
		metav1.SetMetaDataAnnotation(&volume.ObjectMeta, v1beta2.AnnotationRecoveredFrom, survivor)
		if at := v.Recovery.StartedAt; at != nil {
			metav1.SetMetaDataAnnotation(&volume.ObjectMeta, v1beta2.AnnotationRecoveryStartedAt, at.UTC().Format(time.RFC3339))
		}
		err := r.Client.Patch(ctx, volume, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) {
			errs = append(errs, wrap("patch", volume, err))
		}
	}
	return errors.Join(errs...)
}

// unmarkVolume removes the mark of a recovery from the volume of a member that serves.
func (r *Reconciler) unmarkVolume(ctx context.Context, v *view, step plan.UnmarkVolume) error {
	volume := &corev1.PersistentVolumeClaim{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: step.Name}, volume); err != nil {
		return wrap("read", volume, client.IgnoreNotFound(err))
	}
	if !v.owns(volume) {
		return fmt.Errorf("PersistentVolumeClaim %s belongs to something else, so it is not changed", step.Name)
	}
	before := volume.DeepCopy()
	delete(volume.Annotations, v1beta2.AnnotationRecoveredFrom)
	delete(volume.Annotations, v1beta2.AnnotationRecoveryStartedAt)
	return wrap("patch", volume, r.Client.Patch(ctx, volume, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

// isSetAside returns whether a volume was set aside. It is no member's volume then, whoever owns it and whatever its name.
// The operator writes the label and the time together. A volume with only one of them is a member's: a person may have set
// the label on several volumes at once.
func isSetAside(volume client.Object) bool {
	_, ok := setAsideSince(volume)
	return ok
}

func setAsideSince(volume client.Object) (time.Time, bool) {
	since, err := time.Parse(time.RFC3339, volume.GetAnnotations()[v1beta2.AnnotationReplacedAt])
	return since, err == nil && volume.GetLabels()[v1beta2.LabelReplacedOf] != ""
}

// observeSetAside reads the volumes that were set aside.
func (r *Reconciler) observeSetAside(ctx context.Context, v *view) error {
	volumes, err := r.listIndexed(ctx, v, &corev1.PersistentVolumeClaimList{}, keyOfReplaced(v.Name))
	if err != nil {
		return err
	}
	for _, object := range volumes {
		volume, isVolume := object.(*corev1.PersistentVolumeClaim)
		since, ok := setAsideSince(object)
		if !ok || !isVolume || volume.Labels[v1beta2.LabelReplacedOf] != v.Name || !v.owns(volume) {
			continue
		}
		v.SetAside = append(v.SetAside, plan.SetAside{Name: volume.Name, Since: since, Deleting: !volume.DeletionTimestamp.IsZero(), Kept: metav1.GetControllerOf(volume) == nil})
	}
	slices.SortFunc(v.SetAside, func(a, b plan.SetAside) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}
