package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// certManagerVersion is the API of cert-manager's Certificates.
const certManagerVersion = "cert-manager.io/v1"

// issuedSuffix ends the names of the Secrets that cert-manager writes, after the Certificate's.
const issuedSuffix = "-issued"

// certificate is cert-manager's Certificate of a usage.
func certificate(s plan.State, u plan.Usage) *unstructured.Unstructured {
	request, policy := s.CertificateRequest(u), s.Spec.TLS.CertManager
	uses := []any{"digital signature"}
	if request.Server {
		uses = append(uses, "server auth")
	}
	if request.Client {
		uses = append(uses, "client auth")
	}
	names := []any{}
	for _, name := range request.DNSNames {
		names = append(names, name)
	}
	addresses := []any{}
	for _, address := range request.Addresses {
		addresses = append(addresses, address.String())
	}
	spec := map[string]any{
		"secretName": s.Name + u.Certificate + issuedSuffix,
		"commonName": request.CommonName,
		"usages":     uses,
		"privateKey": map[string]any{"algorithm": "ECDSA", "size": int64(256), "rotationPolicy": "Always"},
		"issuerRef":  map[string]any{"name": policy.IssuerRef.Name, "kind": policy.IssuerRef.Kind, "group": policy.IssuerRef.Group},
	}
	if len(names) > 0 {
		spec["dnsNames"] = names
	}
	if len(addresses) > 0 {
		spec["ipAddresses"] = addresses
	}
	for field, value := range map[string]*metav1.Duration{"duration": policy.Duration, "renewBefore": policy.RenewBefore} {
		if value != nil {
			spec[field] = value.Duration.String()
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": certManagerVersion,
		"kind":       "Certificate",
		"metadata": map[string]any{
			"namespace": s.Namespace,
			"name":      s.Name + u.Certificate,
			"labels":    map[string]any{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: s.Name},
		},
		"spec": spec,
	}}
}

// observeCertManager reads the Certificates, and the Secrets that cert-manager wrote for them.
func (r *Reconciler) observeCertManager(ctx context.Context, v *view) error {
	c := &v.Certificates
	v.material.Issued = map[string]*plan.Secret{}
	c.Requested, c.IssuerRefused = true, v.RefusedIssuer()
	for _, u := range plan.Usages {
		if v.material.Withheld(u) {
			continue
		}
		want := certificate(v.State, u)
		have := &unstructured.Unstructured{}
		have.SetGroupVersionKind(want.GroupVersionKind())
		switch err := (reader{r.APIReader, &v.known.kept}).Get(ctx, client.ObjectKeyFromObject(want), have); {
		case meta.IsNoMatchError(err):
			c.Unissued, c.UnissuedReason = "spec.TLS.certManager needs cert-manager, but this Kubernetes does not serve its Certificates. Install cert-manager.", v1beta2.ReasonCertManagerMissing
			return nil
		case apierrors.IsForbidden(err):
			c.Unissued, c.UnissuedReason = "The operator has no right to read cert-manager's Certificates. Set the values clusterOperator.certManager and clusterOperator.managedTLS of the operators' chart to true.", v1beta2.ReasonCertManagerMissing
			return nil
		case apierrors.IsNotFound(err):
			c.Requested = false
			continue
		case err != nil:
			return fmt.Errorf("read Certificate %s: %w", want.GetName(), err)
		}
		if !metav1.IsControlledBy(have, v.cluster) {
			v.noteTaken(u, "Certificate "+want.GetName())
			continue
		}
		c.Requested = c.Requested && requests(have, want)
		if err := r.observeIssued(ctx, v, u, have); err != nil {
			return err
		}
	}
	return nil
}

// requests reports whether a Certificate asks for what is wanted. cert-manager and its webhooks may add fields, but a name that is not in the spec any
// more must go: an issuer would sign it again and again.
func requests(have, want *unstructured.Unstructured) bool {
	for _, names := range []string{"dnsNames", "ipAddresses"} {
		wanted, _, _ := unstructured.NestedStringSlice(want.Object, "spec", names)
		asked, _, _ := unstructured.NestedStringSlice(have.Object, "spec", names)
		if !slices.Equal(wanted, asked) {
			return false
		}
	}
	return equality.Semantic.DeepDerivative(want.Object["spec"], have.Object["spec"])
}

// observeIssued reads the Secret that cert-manager wrote, or why it has not written one.
func (r *Reconciler) observeIssued(ctx context.Context, v *view, u plan.Usage, certificate *unstructured.Unstructured) error {
	c := &v.Certificates
	name := certificate.GetName() + issuedSuffix
	found, err := r.secretOf(ctx, v, name)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read Secret %s: %w", name, err)
	}
	ready, why := certificateReady(certificate)
	if found == nil {
		found = &corev1.Secret{} // not written yet
	} else {
		v.material.Issued[u.Name] = &plan.Secret{Data: found.Data}
	}
	_, pairErr := v.material.IssuedPair(u).Leaf()
	switch {
	case pairErr == nil && len(found.Data[plan.IssuedCAKey]) == 0:
		c.Unissued = "Secret " + name + " has no key " + plan.IssuedCAKey + ". The issuer does not write its CA, which etcd needs. Use an issuer that does (CA, Vault, Venafi)."
	case pairErr == nil && ready:
		return nil
	default:
		c.Unissued = "Certificate " + certificate.GetName() + " is not ready: " + why + "."
	}
	c.UnissuedReason = v1beta2.ReasonCertificateNotReady
	if pairErr != nil || len(found.Data[plan.IssuedCAKey]) == 0 {
		delete(v.material.Issued, u.Name)
	}
	return nil
}

// certificateReady reads the condition Ready that cert-manager writes.
func certificateReady(certificate *unstructured.Unstructured) (ready bool, why string) {
	conditions, _, err := unstructured.NestedSlice(certificate.Object, "status", "conditions")
	if err != nil {
		return false, "its status cannot be read"
	}
	why = "cert-manager has not processed it yet. Check that cert-manager runs and that issuer " + issuerOf(certificate) + " exists"
	for _, condition := range conditions {
		fields, ok := condition.(map[string]any)
		if !ok || fields["type"] != "Ready" {
			continue
		}
		why = planning.Sentence("", fmt.Sprint(fields["message"])) + " Check that issuer " + issuerOf(certificate) + " exists and is ready"
		return fields["status"] == "True", why
	}
	return false, why
}

func issuerOf(certificate *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(certificate.Object, "spec", "issuerRef", "name")
	return name
}

// requestCertificates creates or corrects the Certificates (server-side apply).
func (r *Reconciler) requestCertificates(ctx context.Context, v *view) error {
	if refused := v.RefusedIssuer(); refused != "" {
		return errors.New(refused)
	}
	for _, u := range plan.Usages {
		if v.material.Withheld(u) {
			continue
		}
		certificate := certificate(v.State, u)
		if err := controllerutil.SetControllerReference(v.cluster, certificate, r.Client.Scheme()); err != nil {
			return fmt.Errorf("set the owner of Certificate %s: %w", certificate.GetName(), err)
		}
		configuration := client.ApplyConfigurationFromUnstructured(certificate)
		if err := r.Client.Apply(ctx, configuration, client.FieldOwner(Name), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply Certificate %s: %w", certificate.GetName(), err)
		}
	}
	return nil
}
