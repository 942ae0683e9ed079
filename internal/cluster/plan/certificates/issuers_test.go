package certificates_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// The policy of the chart for Certificates is not there in a bundle for OLM, and with admissionPolicies.create: false. A tenant then had a server
// certificate for any name from each issuer that the administrator allows.
func TestNoNameIsRequestedThatTheAdministratorDoesNotAllow(t *testing.T) {
	s := plantest.StateWith()
	s.AllowedIssuers = []state.AllowedIssuer{{Kind: "ClusterIssuer", Group: "cert-manager.io", Name: "corp"}}
	s.CertificateDomains = []string{"edge.example"}
	for name, allowed := range map[string]bool{
		"vault.corp.example": false, "kubernetes.default": false, "bank-client.victim": false, "*.example": false, "bankedge.example": false,
		"edge.example": true, "etcd.edge.example": true, "*.edge.example": true,
	} {
		for _, issuer := range []v1beta2.IssuerRef{{Kind: "ClusterIssuer", Name: "corp"}, {Name: "own"}} {
			s.Spec.TLS = &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{IssuerRef: issuer, ExtraNames: []string{name}}}
			if refused := certificates.RefusedIssuer(s); (refused == "") != allowed {
				t.Errorf("%s from %+v: %q", name, issuer, refused)
			}
		}
	}
}

func TestOnlyAllowedIssuersAreUsed(t *testing.T) {
	allowed, err := certificates.ParseIssuers([]string{"ClusterIssuer/etcd", "AWSPCAIssuer.awspca.cert-manager.io/*"})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		ref  v1beta2.IssuerRef
		want string
	}{
		"an Issuer of the namespace":               {v1beta2.IssuerRef{Name: "ca"}, ""},
		"an Issuer, written out":                   {v1beta2.IssuerRef{Name: "ca", Kind: "Issuer", Group: "cert-manager.io"}, ""},
		"a ClusterIssuer in the list":              {v1beta2.IssuerRef{Name: "etcd", Kind: "ClusterIssuer"}, ""},
		"an external issuer of a kind in the list": {v1beta2.IssuerRef{Name: "any", Kind: "AWSPCAIssuer", Group: "awspca.cert-manager.io"}, ""},
		"another ClusterIssuer":                    {v1beta2.IssuerRef{Name: "corp-ca", Kind: "ClusterIssuer"}, "the issuer ClusterIssuer/corp-ca,"},
		"an Issuer of another group":               {v1beta2.IssuerRef{Name: "x", Kind: "Issuer", Group: "example.com"}, "the issuer Issuer.example.com/x,"},
		"another external kind":                    {v1beta2.IssuerRef{Name: "x", Kind: "AWSPCAClusterIssuer", Group: "awspca.cert-manager.io"}, "the issuer AWSPCAClusterIssuer.awspca.cert-manager.io/x,"},
	} {
		t.Run(name, func(t *testing.T) {
			s := plantest.StateWith(plantest.FromCertManager, func(s *state.State) { s.Spec.TLS.CertManager.IssuerRef, s.AllowedIssuers = test.ref, allowed })
			if got := certificates.RefusedIssuer(s); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("refused with %q, want %q", got, test.want)
			}
		})
	}
	if refused := certificates.RefusedIssuer(plantest.StateWith(plantest.Managed)); refused != "" {
		t.Errorf("a cluster without cert-manager is refused: %s", refused)
	}
}

// A user wrote the domain of another Kubernetes into spec.pod.ClusterDomain. The operator then requested a certificate for the servers of an
// EtcdCluster there, and the CA of both signed it.
func TestNoCertificateIsRequestedForAnotherDomain(t *testing.T) {
	for name, test := range map[string]struct {
		asked, own string
		refused    bool
	}{
		"none":                          {"", "corp.internal", false},
		"that of Kubernetes":            {".corp.internal", "corp.internal", false},
		"that of Kubernetes, by a dot":  {"corp.internal.", "corp.internal", false},
		"the default":                   {"cluster.local", "", false},
		"another one":                   {".bank.example", "corp.internal", true},
		"the default of another one":    {"cluster.local", "corp.internal", true},
		"another one than the default":  {".bank.example", "", true},
		"one below that of Kubernetes":  {".bank.corp.internal", "corp.internal", true},
		"one that ends like Kubernetes": {".bankcorp.internal", "corp.internal", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := plantest.StateWith(plantest.FromCertManager, func(s *state.State) {
				s.Spec.Pod, s.ClusterDomain = &v1beta2.PodPolicy{ClusterDomain: test.asked}, test.own
				s.Spec.TLS.CertManager.IssuerRef = v1beta2.IssuerRef{Name: "ca"}
			})
			if got := certificates.RefusedIssuer(s); (got != "") != test.refused || test.refused && !strings.Contains(got, "spec.pod.ClusterDomain") {
				t.Errorf("refused with %q, want refused %t", got, test.refused)
			}
			s.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
			if got := certificates.RefusedIssuer(s); got != "" {
				t.Errorf("a CA of the cluster alone: %q", got)
			}
		})
	}
}

func TestInvalidIssuersAreLeftOut(t *testing.T) {
	got, err := certificates.ParseIssuers([]string{"ClusterIssuer", "/x", "ClusterIssuer/etcd", "Kind/"})
	if err == nil || !strings.Contains(err.Error(), `"ClusterIssuer", "/x", "Kind/"`) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]state.AllowedIssuer{{Kind: "ClusterIssuer", Group: state.CertManagerGroup, Name: "etcd"}}, got); diff != "" {
		t.Errorf("issuers (-want +got):\n%s", diff)
	}
}
