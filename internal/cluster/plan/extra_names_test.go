package plan

import (
	"net"
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Clients behind a load balancer refuse members whose certificate lacks its name. Other certificates must not get it: the name says who may open
// the ports of peers and of clients.
func TestOnlyTheCertificateForClientsHasTheNamesOfLoadBalancers(t *testing.T) {
	named := []string{"etcd.example.com", "192.0.2.10", "2001:db8::1"}
	for name, tls := range map[string]*v1beta2.TLSPolicy{
		"managed":     {Managed: &v1beta2.ManagedTLS{ExtraNames: named}},
		"certManager": {CertManager: &v1beta2.CertManagerTLS{ExtraNames: named[:1]}},
	} {
		s := state()
		plain := s
		s.Spec.TLS = tls
		for _, u := range Usages {
			before, request := plain.CertificateRequest(u), s.CertificateRequest(u)
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
