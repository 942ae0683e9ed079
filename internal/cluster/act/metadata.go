package act

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/secrets"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/metadata"
)

// stamp gives an object that is about to be created what spec.metadata asks for.
func stamp(v *view.View, object client.Object) {
	given, _ := services.MetadataFor(v.State, view.KindName(object), object.GetName())
	given.Stamp(object)
}

// metadataKinds are the kinds of ApplyMetadata, apart from Secrets, which the operator may not patch.
var metadataKinds = map[string]func() client.Object{
	"PersistentVolumeClaim": func() client.Object { return &corev1.PersistentVolumeClaim{} },
	"Service":               func() client.Object { return &corev1.Service{} },
	"PodDisruptionBudget":   func() client.Object { return &policyv1.PodDisruptionBudget{} },
	"NetworkPolicy":         func() client.Object { return &networkingv1.NetworkPolicy{} },
	"Certificate":           func() client.Object { return secrets.BlankCertificate() },
}

// applyMetadata brings the labels and annotations of an object to those of spec.metadata.
func (w *writer) applyMetadata(ctx context.Context, v *view.View, step steps.ApplyMetadata) error {
	given, others := services.MetadataFor(v.State, step.Kind, step.Name)
	if step.Kind == "Secret" {
		return w.labelSecret(ctx, v, step.Name, given)
	}
	blank, is := metadataKinds[step.Kind]
	if !is {
		return fmt.Errorf("%T is not about a %s", step, step.Kind)
	}
	object := blank()
	if err := w.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: step.Name}, object); err != nil {
		return view.Wrap("read", object, client.IgnoreNotFound(err))
	}
	if !v.Owns(object) {
		return fmt.Errorf("label %s %s: %w", step.Kind, step.Name, view.ErrForeign)
	}
	labels, annotations := given.Patch(object, others)
	content := map[string]any{"metadata": map[string]any{"uid": object.GetUID(), "labels": labels, "annotations": annotations}}
	if step.Kind == "Certificate" {
		content["spec"] = map[string]any{"secretTemplate": secrets.TemplatePatch(labels, annotations)}
	}
	patch, err := json.Marshal(content)
	if err != nil {
		return view.Wrap("encode the labels of", object, err)
	}
	return view.Wrap("label", object, client.IgnoreNotFound(w.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))))
}

func (w *writer) labelSecret(ctx context.Context, v *view.View, name string, given metadata.Given) error {
	err := kube.UpdateSecret(ctx, w.Client, client.ObjectKey{Namespace: v.Namespace, Name: name}, func(secret *corev1.Secret) error {
		if !metav1.IsControlledBy(secret, v.Cluster) {
			return view.ErrForeign
		}
		given.Update(secret, metadata.Given{})
		return nil
	})
	if err = client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("label Secret %s: %w", name, err)
	}
	return nil
}

// keepMetadata gives a Certificate that is about to be applied what the live one was given, or what spec.metadata asks for if there is
// none. The operator applies all Certificates with one owner of fields, so what it left out would be removed.
func (a *certificateActs) keepMetadata(ctx context.Context, v *view.View, certificate *unstructured.Unstructured) error {
	live := secrets.BlankCertificate()
	err := a.APIReader.Get(ctx, client.ObjectKeyFromObject(certificate), live)
	switch {
	case apierrors.IsNotFound(err):
		stamp(v, certificate)
	case err != nil:
		return view.Wrap("read", certificate, err)
	default:
		metadata.Keep(live, certificate)
	}
	return secrets.SetTemplate(certificate)
}
