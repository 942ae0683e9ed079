package kubecache

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/kube"
)

// ErrTooLarge is in the error chain if an object takes more memory than the operator reads past the cache.
var ErrTooLarge = errors.New("the object is too large")

// LiveReader reads past the cache. Each object is decoded as a whole, so few are at the same time, and what no pass reads of a large one is dropped.
type LiveReader struct{ client.Reader }

// Get reads one object. Tenants make no objects without a namespace. The cache holds each EtcdCluster and EtcdRestore as it is.
func (l LiveReader) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	switch into.(type) {
	case *v1beta2.EtcdCluster, *v1beta2.EtcdRestore, *v1beta2.EtcdBackup:
		return l.Reader.Get(ctx, key, into, options...)
	}
	if key.Namespace == "" {
		return l.Reader.Get(ctx, key, into, options...)
	}
	return kube.InTurn(ctx, key.Namespace, func() error {
		if err := l.Reader.Get(ctx, key, into, options...); err != nil {
			return err
		}
		return lighten(into)
	})
}

// lighten drops what no pass reads of a large object. It returns an error if the object is still too large: a pass holds it while it waits.
func lighten(object client.Object) error {
	object.SetManagedFields(nil)
	if certificate, is := object.(*unstructured.Unstructured); is {
		slimCertificate(certificate)
	}
	if HeldSize(object) <= MaxHeld {
		return nil
	}
	if Slim(object); HeldSize(object) <= MaxHeld {
		return nil
	}
	return fmt.Errorf("%w: %s %s takes more than %d KiB of memory, so the operator does not read it. Remove long lists and annotations from it", ErrTooLarge, view.KindName(object), object.GetName(), MaxHeld>>10)
}

// slimCertificate keeps the parts of a Certificate that observeCertManager reads.
func slimCertificate(certificate *unstructured.Unstructured) {
	kept := &unstructured.Unstructured{Object: map[string]any{"spec": certificate.Object["spec"]}}
	if conditions, found, err := unstructured.NestedFieldNoCopy(certificate.Object, "status", "conditions"); found && err == nil {
		kept.Object["status"] = map[string]any{"conditions": conditions}
	}
	kept.SetGroupVersionKind(certificate.GroupVersionKind())
	kept.SetNamespace(certificate.GetNamespace())
	kept.SetName(certificate.GetName())
	kept.SetUID(certificate.GetUID())
	kept.SetOwnerReferences(certificate.GetOwnerReferences())
	keepRecord(certificate, kept)
	certificate.Object = kept.Object
}
