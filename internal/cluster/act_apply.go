package cluster

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// errForeign is for an object that has a name which the cluster needs, and belongs to something else.
var errForeign = errors.New("it exists and does not belong to this EtcdCluster: delete or rename it")

// applyServices brings both Services to what the step asks, but for one that belongs to something else.
func (r *Reconciler) applyServices(ctx context.Context, v *view, step plan.ApplyServices) error {
	s := v.State
	s.Services.WithoutUID = step.WithoutUID
	bare := s
	bare.Spec.Service = nil
	var errs []error
	headlessCurrent := v.Services.HeadlessCurrent && step.WithoutUID == v.Services.WithoutUID
	if !v.IsForeign("Service", v.Name) && !headlessCurrent {
		errs = append(errs, r.apply(ctx, v, headlessService(s)))
	}
	if !v.IsForeign("Service", v.ClientService()) {
		errs = append(errs, r.applyClientService(ctx, v, clientService(bare, step), clientService(s, step), step))
	}
	return errors.Join(errs...)
}

// applyClientService applies the client Service. If the API server refuses its settings, it applies the rest with the
// settings that the Service has: otherwise the Service would go on to select members that a restore has stopped.
func (r *Reconciler) applyClientService(ctx context.Context, v *view, first, wanted *corev1.Service, step plan.ApplyServices) error {
	refused := r.applyOver(ctx, v, first, wanted)
	if !apierrors.IsInvalid(refused) && !apierrors.IsForbidden(refused) {
		return refused
	}
	var live corev1.Service
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(wanted), &live); err != nil {
		return errors.Join(refused, client.IgnoreNotFound(err))
	}
	s := v.State
	s.Services.WithoutUID, s.Spec.Service = step.WithoutUID, settingsOf(&live)
	if err := r.apply(ctx, v, clientService(s, step)); err != nil {
		return errors.Join(refused, err)
	}
	return fmt.Errorf("the API server refuses what spec.service asks for. The client Service keeps the settings that it has. Correct spec.service: %w", refused)
}

// apply makes an object as wanted and leaves alone what others set on it (server-side apply). It creates what does not
// exist, and changes only what a read past the cache shows to be controlled by this EtcdCluster.
func (r *Reconciler) apply(ctx context.Context, v *view, object client.Object) error {
	return r.applyOver(ctx, v, object, object)
}

// applyOver is apply for an object with fields that may later be removed. The API server removes a field that is no longer
// applied only if it was not created with the object. So the object is created as first, and then applied.
func (r *Reconciler) applyOver(ctx context.Context, v *view, first, object client.Object) error {
	if err := controllerutil.SetControllerReference(v.cluster, object, r.Client.Scheme()); err != nil {
		return fmt.Errorf("own %s %s: %w", kindName(object), object.GetName(), err)
	}
	same := first == object || reflect.DeepEqual(withOwners(first, object), object)
	live := blank(object)
	err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(object), live)
	switch {
	case apierrors.IsNotFound(err):
		if err := r.createFirst(ctx, v, first); err != nil || same {
			return err
		}
		live = first
	case err != nil:
		return wrap("read", object, err)
	case !metav1.IsControlledBy(live, v.cluster):
		return wrap("apply", object, errForeign)
	}
	object.SetUID(live.GetUID()) // the API server refuses to apply to one that was created since
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return wrap("convert", object, err)
	}
	delete(content, "status")
	configuration := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: content})
	return wrap("apply", object, r.Client.Apply(ctx, configuration, client.FieldOwner(Name), client.ForceOwnership))
}

// withOwners is a copy of an object with the owners of another.
func withOwners(object, of client.Object) client.Object {
	owned, ok := object.DeepCopyObject().(client.Object)
	if ok {
		owned.SetOwnerReferences(of.GetOwnerReferences())
	}
	return owned
}

func (r *Reconciler) createFirst(ctx context.Context, v *view, object client.Object) error {
	if err := controllerutil.SetControllerReference(v.cluster, object, r.Client.Scheme()); err != nil {
		return fmt.Errorf("own %s %s: %w", kindName(object), object.GetName(), err)
	}
	return wrap("create", object, r.Client.Create(ctx, object, client.FieldOwner(Name)))
}

// blank is an empty object of the same type. A read into an object that is not empty keeps what the answer lacks, such
// as owner references.
func blank(object client.Object) client.Object {
	return reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
}

// noteForeign records an object that has a name which the cluster needs. That of an earlier EtcdCluster of the same name
// is about to be deleted with it.
func (v *view) noteForeign(kind string, object client.Object) {
	owner := metav1.GetControllerOf(object)
	earlier := owner != nil && owner.Kind == "EtcdCluster" && owner.Name == v.Name
	v.Foreign = append(v.Foreign, plan.ForeignObject{Kind: kind, Name: object.GetName(), Leaving: earlier || !object.GetDeletionTimestamp().IsZero()})
}
