package cluster

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// wantedLabels are those that a Pod or volume of a member always has.
func (v *view) wantedLabels(object client.Object) map[string]string {
	labels := memberLabels(v.State, object.GetName(), incarnationOf(v.State, object))
	if pod, isPod := object.(*corev1.Pod); isPod && startOf(pod) == plan.StartForce {
		delete(labels, v1beta2.LabelApp) // no Service selects it
	}
	return labels
}

// unlabelled reports whether an object of the cluster lost what the operator gave it. Objects with names that the
// operator did not make are not judged.
func (v *view) unlabelled(object client.Object) bool {
	if _, named := v.IncarnationNamed(object.GetName()); !named {
		return false
	}
	for key, value := range v.wantedLabels(object) {
		if object.GetLabels()[key] != value {
			return true
		}
	}
	if _, isVolume := object.(*corev1.PersistentVolumeClaim); isVolume {
		return object.GetAnnotations()[v1beta2.AnnotationClusterUID] == "" && metav1.GetControllerOf(object) == nil
	}
	return metav1.GetControllerOf(object) == nil
}

// restoreLabels puts back what a Pod or volume lost. The Pod runs on.
func (r *Reconciler) restoreLabels(ctx context.Context, v *view, step plan.RestoreLabels) error {
	var object client.Object = &corev1.Pod{}
	if step.Volume {
		object = &corev1.PersistentVolumeClaim{}
	}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: step.Name}, object); err != nil {
		return wrap("read", object, client.IgnoreNotFound(err))
	}
	if !v.owns(object) {
		return fmt.Errorf("label %s %s: %w", kindName(object), step.Name, errForeign)
	}
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copy %s %s", kindName(object), step.Name)
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, v.wantedLabels(object))
	object.SetLabels(labels)
	if volume, isVolume := object.(*corev1.PersistentVolumeClaim); isVolume {
		metav1.SetMetaDataAnnotation(&volume.ObjectMeta, v1beta2.AnnotationClusterUID, string(v.UID))
	} else if err := controllerutil.SetControllerReference(v.cluster, object, r.Client.Scheme()); err != nil {
		return fmt.Errorf("own %s %s: %w", kindName(object), step.Name, err)
	}
	return wrap("label", object, r.Client.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}
