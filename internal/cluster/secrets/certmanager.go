package secrets

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// observeCertManager reads the Certificates, and the Secrets that cert-manager wrote for them.
func (s *Secrets) observeCertManager(ctx context.Context, v *view.View) error {
	c := &v.Certificates
	v.Material.Issued = map[string]*material.Secret{}
	c.Requested, c.IssuerRefused = true, certificates.RefusedIssuer(v.State)
	for _, u := range state.Usages {
		if v.Material.Withheld(u) {
			continue
		}
		want := Certificate(v.State, u)
		have, err := s.certificateOf(ctx, v, want)
		switch {
		case meta.IsNoMatchError(err):
			c.Unissued, c.UnissuedReason = "spec.TLS.certManager needs cert-manager, but this Kubernetes does not serve its Certificates. Install cert-manager.", v1beta2.ReasonCertManagerMissing
			return nil
		case apierrors.IsForbidden(err):
			c.Unissued, c.UnissuedReason = "The operator has no right to read cert-manager's Certificates. Set the values clusterOperator.certManager and clusterOperator.managedTLS of the operators' chart to true.", v1beta2.ReasonCertManagerMissing
			return nil
		case apierrors.IsNotFound(err):
			c.Requested = false
			continue
		case errors.Is(err, kubecache.ErrTooLarge):
			c.Unissued, c.UnissuedReason = planning.Sentence("", err.Error())+" Or delete it, and the operator creates it again.", v1beta2.ReasonCertificateNotReady
			return nil
		case err != nil:
			return fmt.Errorf("read Certificate %s: %w", want.GetName(), err)
		}
		if !metav1.IsControlledBy(have, v.Cluster) {
			noteTaken(v, u, "Certificate "+want.GetName())
			continue
		}
		services.NoteMetadata(&v.State, "Certificate", have.GetName(), have)
		c.Requested = c.Requested && requests(have, want)
		if err := s.observeIssued(ctx, v, u, have); err != nil {
			return err
		}
	}
	return nil
}

// certificateOf returns a Certificate that is kept, or reads and keeps it. The caller may only read it.
func (s *Secrets) certificateOf(ctx context.Context, v *view.View, want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	key := client.ObjectKeyFromObject(want)
	name := nameOfKept(want, key)
	if have, is := s.Memory.OfView(v).objects[name].(*unstructured.Unstructured); is {
		return have, nil
	}
	read := &unstructured.Unstructured{}
	read.SetGroupVersionKind(want.GroupVersionKind())
	if err := s.APIReader.Get(ctx, key, read); err != nil {
		return nil, err
	}
	s.keep(v, name, read)
	return read, nil
}

// observeIssued reads the Secret that cert-manager wrote, or why it has not written one.
func (s *Secrets) observeIssued(ctx context.Context, v *view.View, u state.Usage, certificate *unstructured.Unstructured) error {
	c := &v.Certificates
	name := certificate.GetName() + issuedSuffix
	found, err := s.secretOf(ctx, v, name)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read Secret %s: %w", name, err)
	}
	ready, why := certificateReady(certificate)
	if found == nil {
		found = &corev1.Secret{} // not written yet
	} else {
		v.Material.Issued[u.Name] = &material.Secret{Data: found.Data}
	}
	_, pairErr := v.Material.IssuedPair(u).Leaf()
	switch {
	case pairErr == nil && len(found.Data[material.IssuedCAKey]) == 0:
		c.Unissued = "Secret " + name + " has no key " + material.IssuedCAKey + ". The issuer does not write its CA, which etcd needs. Use an issuer that does (CA, Vault, Venafi)."
	case pairErr == nil && ready:
		return nil
	default:
		c.Unissued = "Certificate " + certificate.GetName() + " is not ready: " + why + "."
	}
	c.UnissuedReason = v1beta2.ReasonCertificateNotReady
	if pairErr != nil || len(found.Data[material.IssuedCAKey]) == 0 {
		delete(v.Material.Issued, u.Name)
	}
	return nil
}
