package act

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// writer creates, changes and deletes objects of an EtcdCluster.
type writer struct {
	*view.KubeAPI
}

// create makes an object of the cluster; one that is there already and is the cluster's own is as good.
func (w *writer) create(ctx context.Context, v *view.View, object client.Object) error {
	if err := controllerutil.SetControllerReference(v.Cluster, object, w.Client.Scheme()); err != nil {
		return fmt.Errorf("set the owner of %s %s: %w", view.KindName(object), object.GetName(), err)
	}
	stamp(v, object)
	err := w.Client.Create(ctx, object)
	if !apierrors.IsAlreadyExists(err) {
		return view.Wrap("create", object, err)
	}
	there := view.Blank(object)
	if getErr := w.APIReader.Get(ctx, client.ObjectKeyFromObject(object), there); getErr != nil {
		return view.Wrap("read", object, getErr)
	}
	if !v.Owns(there) || view.IsSetAside(there) {
		return fmt.Errorf("%s %s: %w", view.KindName(object), object.GetName(), view.ErrForeign)
	}
	return nil
}

// delete deletes an object of the cluster by its UID, so that one made again under the same name is safe.
func (w *writer) delete(ctx context.Context, v *view.View, object client.Object, name string, options ...client.DeleteOption) error {
	if err := w.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, object); err != nil {
		return view.Wrap("read", object, client.IgnoreNotFound(err))
	}
	if !v.Owns(object) {
		return fmt.Errorf("%s %s is not deleted: %w", view.KindName(object), name, view.ErrForeign)
	}
	uid := object.GetUID()
	return view.Wrap("delete", object, client.IgnoreNotFound(w.Client.Delete(ctx, object, append(options, client.Preconditions{UID: &uid})...)))
}
