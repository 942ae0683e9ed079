package certificates_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// With certManager and static there is no Secret of a CA.
func TestOnlyTheCAOfTheOperatorIsCompleted(t *testing.T) {
	for _, tls := range []*v1beta2.TLSPolicy{nil, {Static: &v1beta2.StaticTLS{}}, {CertManager: &v1beta2.CertManagerTLS{}}} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Certs(func(c *state.Certificates) { c.CA.Incomplete = "it has none" }))
		if s.Spec.TLS = tls; certificates.HandOutCA(s) != nil {
			t.Errorf("%+v: the Secret of a CA is written", tls)
		}
	}
}
