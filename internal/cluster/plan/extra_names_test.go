package plan

import (
	"net"
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// Clients behind a load balancer refuse members whose certificate lacks its name. Other certificates must not get it: the name says who may open
// the ports of peers and of clients.
func TestOnlyTheCertificateForClientsHasTheNamesOfLoadBalancers(t *testing.T) {
	named := []string{"etcd.example.com", "192.0.2.10", "2001:db8::1"}
	for name, tls := range map[string]*v1beta2.TLSPolicy{
		"managed":     {Managed: &v1beta2.ManagedTLS{ExtraNames: named}},
		"certManager": {CertManager: &v1beta2.CertManagerTLS{ExtraNames: named[:1]}},
	} {
		s := stateWith()
		plain := s
		s.Spec.TLS = tls
		for _, u := range state.Usages {
			before, request := state.CertificateRequest(plain, u), state.CertificateRequest(s, u)
			if u.Name != "server" {
				if !slices.Equal(before.DNSNames, request.DNSNames) || len(before.Addresses) != len(request.Addresses) {
					t.Errorf("%s: the certificate %s has other names: %+v", name, u.Name, request)
				}
				continue
			}
			addresses := slices.ContainsFunc(request.Addresses, net.ParseIP("2001:db8::1").Equal) && slices.ContainsFunc(request.Addresses, net.ParseIP("192.0.2.10").Equal)
			if !slices.Contains(request.DNSNames, "etcd.example.com") || name == "managed" && !addresses {
				t.Errorf("%s: the certificate for clients lacks a name: %+v", name, request)
			}
			if without := before.DNSNames; !slices.Equal(without, request.DNSNames[:len(without)]) {
				t.Errorf("%s: the certificate for clients lost a name: %+v", name, request)
			}
		}
	}
}

// The policy of the chart for Certificates is not there in a bundle for OLM, and with admissionPolicies.create: false. A tenant then had a server
// certificate for any name from each issuer that the administrator allows.
func TestNoNameIsRequestedThatTheAdministratorDoesNotAllow(t *testing.T) {
	s := stateWith()
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
