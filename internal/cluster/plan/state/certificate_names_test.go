package state_test

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// Clients behind a load balancer refuse members whose certificate lacks its name. Other certificates must not get it: the name says who may open
// the ports of peers and of clients.
func TestOnlyTheCertificateForClientsHasTheNamesOfLoadBalancers(t *testing.T) {
	named := []string{"etcd.example.com", "192.0.2.10", "2001:db8::1"}
	for name, tls := range map[string]*v1beta2.TLSPolicy{
		"managed":     {Managed: &v1beta2.ManagedTLS{ExtraNames: named}},
		"certManager": {CertManager: &v1beta2.CertManagerTLS{ExtraNames: named[:1]}},
	} {
		s := plantest.StateWith()
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

func TestCertificatesNameTheDomainOfTheKubernetesCluster(t *testing.T) {
	for name, test := range map[string]struct {
		spec, detected, host, certified string
	}{
		"no domain is known":                          {"", "", "", ".cluster.local"},
		"the operator's Pod has another domain":       {"", "corp.example", "", ".corp.example"},
		"the spec has a domain with a leading dot":    {".corp.example", "other", ".corp.example", ".corp.example"},
		"the spec has a domain without a leading dot": {"corp.example.", "", ".corp.example", ".corp.example"},
	} {
		t.Run(name, func(t *testing.T) {
			s := plantest.StateWith(plantest.Policy(v1beta2.PodPolicy{ClusterDomain: test.spec}))
			s.ClusterDomain = test.detected
			if got := state.Host(s, "m"); got != "m.example.ns.svc"+test.host {
				t.Errorf("the host is %s", got)
			}
			if names := state.CertificateRequest(s, state.Usages[0]).DNSNames; names[1] != "*.example.ns.svc"+test.certified {
				t.Errorf("the names are %v", names)
			}
		})
	}
}

// Both certificates are of one CA: only the name keeps a client out of the peer port.
func TestOnlyTheCertificatesOfMembersHaveThePeersName(t *testing.T) {
	s := plantest.StateWith(plantest.Managed)
	ca, err := pki.NewCA("x", s.Now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range state.Usages {
		pair, err := ca.Issue(state.CertificateRequest(s, u), s.Now, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		ofMember := u.Name == "peer" || u.Name == "server"
		if state.LacksPeerName(s, pair.Cert) == ofMember {
			t.Errorf("the certificate of %ss covers %s: %t, want %t", u.Name, state.PeerHostname(s), !ofMember, ofMember)
		}
	}
	if other := plantest.StateWith(plantest.Managed, func(s *state.State) { s.Namespace = "other" }); state.PeerHostname(other) == state.PeerHostname(s) {
		t.Error("clusters of two namespaces have one name")
	}
}
