package services

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

const inside = "https://example-client.ns.svc:2379"

// A platform copies these URLs into the flags of a kube-apiserver. Without this test, it gets an address that its client refuses, because the
// certificate of the members does not have it, or none at all.
func TestTheStatusHasTheURLsThatClientsCanUse(t *testing.T) {
	managed := func(names ...string) *v1beta2.TLSPolicy {
		return &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{ExtraNames: names}}
	}
	static := &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{OperatorSecret: "operator", Member: &v1beta2.MemberSecret{ServerSecret: "server"}}}
	for name, test := range map[string]struct {
		tls      *v1beta2.TLSPolicy
		outside  []string
		external []string
		missing  string
	}{
		"no load balancer":                    {tls: managed("etcd.example.com")},
		"no TLS":                              {outside: []string{"192.0.2.10"}, external: []string{"http://192.0.2.10:2379"}},
		"certificates of the user":            {tls: static, outside: []string{"192.0.2.10"}, external: []string{"https://192.0.2.10:2379"}},
		"an address in the certificate":       {tls: managed("192.0.2.10"), outside: []string{"192.0.2.10"}, external: []string{"https://192.0.2.10:2379"}},
		"an address of IPv6":                  {tls: managed("2001:db8::1"), outside: []string{"2001:db8::1"}, external: []string{"https://[2001:db8::1]:2379"}},
		"one of two in the certificate":       {tls: managed("192.0.2.10"), outside: []string{"192.0.2.9", "192.0.2.10"}, external: []string{"https://192.0.2.10:2379"}},
		"a name of the user":                  {tls: managed("etcd.example.com"), outside: []string{"192.0.2.10"}, external: []string{"https://etcd.example.com:2379"}},
		"a name of the load balancer":         {tls: managed("lb.example.com"), outside: []string{"lb.example.com"}, external: []string{"https://lb.example.com:2379"}},
		"a wildcard for the load balancer":    {tls: managed("*.example.com"), outside: []string{"lb.example.com"}, external: []string{"https://lb.example.com:2379"}},
		"an address that nothing is good for": {tls: managed(), outside: []string{"192.0.2.10"}, missing: "192.0.2.10, but the certificates of members do not: write it, or a DNS name for it, into spec.TLS.managed.extraNames"},
	} {
		s := state.State{Name: "example", Namespace: "ns"}
		s.Spec.TLS, s.Services = test.tls, state.Services{ClientExists: true, Outside: test.outside}
		got := Endpoints(s)
		if want := strings.Replace(inside, "https", scheme(test.tls), 1); !slices.Equal(got.Internal, []string{want}) {
			t.Errorf("%s: inside it is %q, not %q", name, got.Internal, want)
		}
		if !slices.Equal(got.External, test.external) {
			t.Errorf("%s: outside it is %q, not %q", name, got.External, test.external)
		}
		if !strings.Contains(got.Message, test.missing) || test.missing == "" && got.Message != "" {
			t.Errorf("%s: the message is %q", name, got.Message)
		}
	}
}

func scheme(tls *v1beta2.TLSPolicy) string {
	if tls == nil {
		return "http"
	}
	return "https"
}

// A Service that belongs to something else may send clients to another cluster.
func TestTheStatusHasNoURLOfAServiceThatTheOperatorDidNotMake(t *testing.T) {
	if got := Endpoints(state.State{Name: "example", Namespace: "ns"}); got != nil {
		t.Errorf("the status has %+v", got)
	}
}
