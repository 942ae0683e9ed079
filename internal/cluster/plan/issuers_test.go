package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

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
			s := stateWith(fromCertManager, func(s *state.State) { s.Spec.TLS.CertManager.IssuerRef, s.AllowedIssuers = test.ref, allowed })
			if got := certificates.RefusedIssuer(s); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("refused with %q, want %q", got, test.want)
			}
		})
	}
	if refused := certificates.RefusedIssuer(stateWith(managed)); refused != "" {
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
			s := stateWith(fromCertManager, func(s *state.State) {
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

// A cluster that runs must keep its certificates when an upgrade brings the list of allowed issuers.
func TestPlanOfAnIssuerThatIsNotAllowed(t *testing.T) {
	refused := certs(func(c *state.Certificates) { c.IssuerRefused = "words." })
	differs := certs(func(c *state.Certificates) { c.Requested = false })
	missing := certs(func(c *state.Certificates) { c.Missing, c.Lacking = true, true })
	deleted := certs(func(c *state.Certificates) { c.Missing, c.Due = true, "its Secret is missing" })
	unissued := certs(func(c *state.Certificates) {
		c.Unissued, c.UnissuedReason = "It is not ready.", v1beta2.ReasonCertificateNotReady
	})
	due := certs(func(c *state.Certificates) { c.Due = "it expires" })
	expires := certs(func(c *state.Certificates) { c.Expires = time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC) })
	const renews = "words. The cluster continues with the Certificates that it has, and cert-manager renews them."
	planTests{
		"requests no certificates for a new cluster": {
			stateWith(fromCertManager, missing, differs, refused), steps.Wait{Reason: v1beta2.ReasonIssuerNotAllowed, Message: "words.", Stalled: true},
		},
		"writes the certificates that exist to a cluster without Secrets": {
			stateWith(fromCertManager, certs(func(c *state.Certificates) { c.Missing = true }), refused), steps.WriteCertificates{Cause: "none exist yet"},
		},
		"writes them also if another Certificate differs from the spec": {
			stateWith(fromCertManager, certs(func(c *state.Certificates) { c.Missing = true }), differs, refused), steps.WriteCertificates{Cause: "none exist yet"},
		},
		"writes a deleted Secret again": {
			stateWith(formed, members(3), fromCertManager, refused, deleted), steps.WriteCertificates{Cause: "its Secret is missing"},
		},
		"writes a deleted Secret again if the Certificates differ from the spec": {
			stateWith(formed, members(3), fromCertManager, refused, differs, deleted), steps.WriteCertificates{Cause: "its Secret is missing"},
		},
		"writes a deleted Secret again while the cluster is paused": {
			stateWith(formed, members(3), fromCertManager, refused, differs, deleted, func(s *state.State) { s.Spec.Paused = true }), steps.WriteCertificates{Cause: "its Secret is missing"},
		},
		"writes a deleted Secret again although another Certificate is not issued": {
			stateWith(formed, members(3), fromCertManager, refused, differs, unissued, deleted), steps.WriteCertificates{Cause: "its Secret is missing"},
		},
		"stalls if a Certificate was not requested and is not issued": {
			stateWith(formed, members(3), fromCertManager, refused, differs, unissued, expires),
			steps.Wait{Reason: v1beta2.ReasonIssuerNotAllowed, Message: "words. It is not ready. The cluster continues with the certificates that it has. The first of them expires at 2027-01-02T03:04:05Z.", Stalled: true},
		},
		"names the issuer if a Certificate that was requested is not issued": {
			stateWith(formed, members(3), fromCertManager, refused, unissued), steps.Wait{Reason: v1beta2.ReasonCertificateNotReady, Message: "It is not ready. words."},
		},
		"advises of it while the cluster is healthy": {
			stateWith(formed, members(3), fromCertManager, refused), steps.Advice{Reason: v1beta2.ReasonIssuerNotAllowed, Message: renews},
		},
		"names the expiry if the Certificates differ from the spec": {
			stateWith(formed, members(3), fromCertManager, refused, differs, expires),
			steps.Advice{Reason: v1beta2.ReasonIssuerNotAllowed, Message: "words. A Certificate is missing or differs from the spec. The cluster continues with the certificates that it has. The first of them expires at 2027-01-02T03:04:05Z."},
		},
		"copies renewed certificates": {
			stateWith(formed, members(3), fromCertManager, refused, due), steps.WriteCertificates{Cause: "it expires"},
		},
		"copies renewed certificates of Certificates that differ from the spec": {
			stateWith(formed, members(3), fromCertManager, refused, differs, due), steps.WriteCertificates{Cause: "it expires"},
		},
		"copies renewed certificates while the cluster is paused": {
			stateWith(formed, members(3), fromCertManager, refused, differs, due, func(s *state.State) { s.Spec.Paused = true }), steps.WriteCertificates{Cause: "it expires"},
		},
		"recreates a member": {
			stateWith(formed, members(3), fromCertManager, refused, differs, with(1, withoutPod)), steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
	}.run(t)
}
