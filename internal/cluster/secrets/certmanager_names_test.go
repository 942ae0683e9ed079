package secrets

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// A longer list of names that begins with the wanted ones counted as the wanted one. So cert-manager renewed a name for good that was removed from
// the spec, for example because the load balancer belongs to somebody else by now.
func TestANameThatIsRemovedFromTheSpecLeavesTheCertificate(t *testing.T) {
	s := state.State{Name: "c", Namespace: "ns"}
	of := func(names ...string) *unstructured.Unstructured {
		s.Spec.TLS = &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerRef{Name: "i"}, ExtraNames: names}}
		return Certificate(s, state.Usages[1])
	}
	if have, want := of("given-away.example.com"), of(); requests(have, want) {
		t.Errorf("the Certificate is not corrected: it has %v", have.Object["spec"])
	}
	have, want := of("etcd.example.com"), of("etcd.example.com")
	if _ = unstructured.SetNestedField(have.Object, "Default", "spec", "addedByAWebhook"); !requests(have, want) {
		t.Error("the Certificate is written again and again beside a webhook that adds a field")
	}
}
