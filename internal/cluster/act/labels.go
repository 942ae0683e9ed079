package act

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// restoreLabels puts back what a Pod or volume lost. The Pod runs on.
func (p *podActs) restoreLabels(ctx context.Context, v *view.View, step steps.RestoreLabels) error {
	var object client.Object = &corev1.Pod{}
	if step.Volume {
		object = &corev1.PersistentVolumeClaim{}
	}
	if err := p.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: step.Name}, object); err != nil {
		return view.Wrap("read", object, client.IgnoreNotFound(err))
	}
	if !v.Owns(object) {
		return fmt.Errorf("label %s %s: %w", view.KindName(object), step.Name, view.ErrForeign)
	}
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copy %s %s", view.KindName(object), step.Name)
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, pods.WantedLabels(v.State, object))
	object.SetLabels(labels)
	if volume, isVolume := object.(*corev1.PersistentVolumeClaim); isVolume {
		metav1.SetMetaDataAnnotation(&volume.ObjectMeta, v1beta2.AnnotationClusterUID, string(v.UID))
	} else if err := controllerutil.SetControllerReference(v.Cluster, object, p.Client.Scheme()); err != nil {
		return fmt.Errorf("own %s %s: %w", view.KindName(object), step.Name, err)
	}
	return view.Wrap("label", object, p.Client.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}
