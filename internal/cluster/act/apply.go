package act

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// apply makes an object as wanted and leaves alone what others set on it (server-side apply). It creates what does not
// exist, and changes only what a read past the cache shows to be controlled by this EtcdCluster.
func (w *writer) apply(ctx context.Context, v *view.View, object client.Object) error {
	return w.applyOver(ctx, v, object, object)
}

// applyOver is apply for an object with fields that may later be removed. The API server removes a field that is no longer
// applied only if it was not created with the object. So the object is created as first, and then applied.
func (w *writer) applyOver(ctx context.Context, v *view.View, first, object client.Object) error {
	if err := controllerutil.SetControllerReference(v.Cluster, object, w.Client.Scheme()); err != nil {
		return fmt.Errorf("own %s %s: %w", view.KindName(object), object.GetName(), err)
	}
	same := first == object || reflect.DeepEqual(withOwners(first, object), object)
	live := view.Blank(object)
	err := w.APIReader.Get(ctx, client.ObjectKeyFromObject(object), live)
	switch {
	case apierrors.IsNotFound(err):
		if err := w.createFirst(ctx, v, first); err != nil || same {
			return err
		}
		live = first
	case err != nil:
		return view.Wrap("read", object, err)
	case !metav1.IsControlledBy(live, v.Cluster):
		return view.Wrap("apply", object, view.ErrForeign)
	}
	object.SetUID(live.GetUID()) // the API server refuses to apply to one that was created since
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return view.Wrap("convert", object, err)
	}
	delete(content, "status")
	configuration := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: content})
	return view.Wrap("apply", object, w.Client.Apply(ctx, configuration, client.FieldOwner(view.Name), client.ForceOwnership))
}

// withOwners is a copy of an object with the owners of another.
func withOwners(object, of client.Object) client.Object {
	owned, ok := object.DeepCopyObject().(client.Object)
	if ok {
		owned.SetOwnerReferences(of.GetOwnerReferences())
	}
	return owned
}

func (w *writer) createFirst(ctx context.Context, v *view.View, object client.Object) error {
	if err := controllerutil.SetControllerReference(v.Cluster, object, w.Client.Scheme()); err != nil {
		return fmt.Errorf("own %s %s: %w", view.KindName(object), object.GetName(), err)
	}
	stamp(v, object)
	return view.Wrap("create", object, w.Client.Create(ctx, object, client.FieldOwner(view.Name)))
}
