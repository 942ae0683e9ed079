package secrets

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/metadata"
	"github.com/etcd-suite/etcd-operator/internal/pki"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

const (
	// certManagerVersion is the API of cert-manager's Certificates.
	certManagerVersion = "cert-manager.io/v1"
	// issuedSuffix ends the names of the Secrets that cert-manager writes, after the Certificate's.
	issuedSuffix = "-issued"
)

// Certificate is cert-manager's Certificate of a usage.
func Certificate(s state.State, u state.Usage) *unstructured.Unstructured {
	return certificateFor(s, s.Name+u.Certificate, state.CertificateRequest(s, u))
}

// UserCertificate is cert-manager's Certificate of a user.
func UserCertificate(s state.State, user string) *unstructured.Unstructured {
	return certificateFor(s, s.Name+"-"+user, state.UserRequest(s, user))
}

func certificateFor(s state.State, name string, request pki.Request) *unstructured.Unstructured {
	policy := s.Spec.TLS.CertManager
	uses := []any{"digital signature"}
	if request.Server {
		uses = append(uses, "server auth")
	}
	if request.Client {
		uses = append(uses, "client auth")
	}
	names := []any{}
	for _, dnsName := range request.DNSNames {
		names = append(names, dnsName)
	}
	addresses := []any{}
	for _, address := range request.Addresses {
		addresses = append(addresses, address.String())
	}
	spec := map[string]any{
		"secretName": name + issuedSuffix,
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
			"name":      name,
			"labels":    map[string]any{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: s.Name},
		},
		"spec": spec,
	}}
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

// BlankCertificate is a Certificate to read into.
func BlankCertificate() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": certManagerVersion, "kind": "Certificate"}}
}

// SetTemplate has cert-manager give the Secret that it writes the labels that the Certificate was given.
func SetTemplate(certificate *unstructured.Unstructured) error {
	given := metadata.Recorded(certificate).ForSecret()
	if len(given.Labels) == 0 {
		return nil
	}
	if err := unstructured.SetNestedStringMap(certificate.Object, given.Labels, "spec", "secretTemplate", "labels"); err != nil {
		return fmt.Errorf("set the template of the Secret of Certificate %s: %w", certificate.GetName(), err)
	}
	return nil
}

// TemplatePatch is the patch of that template for patches of the labels and annotations of a Certificate. It removes annotations that an earlier version
// wrote, see metadata.Given.ForSecret.
func TemplatePatch(labels, annotations map[string]any) map[string]any {
	removed, kept := map[string]any{}, maps.Clone(labels)
	for key := range annotations {
		removed[key] = nil
	}
	for key := range metadata.ForbiddenOfSecret.Labels {
		if _, is := kept[key]; is {
			kept[key] = nil
		}
	}
	return map[string]any{"labels": kept, "annotations": removed}
}
