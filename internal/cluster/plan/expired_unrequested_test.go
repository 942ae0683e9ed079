package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// A paused or hibernated cluster has a Certificate of cert-manager that differs from the spec: its user changed spec.TLS, or an upgrade of the suite asks for
// another name. cert-manager renews the certificates that it has in time. The operator handed none of them out, and all expired.
func TestARenewalIsHandedOutWhileACertificateDiffersFromTheSpec(t *testing.T) {
	for name, set := range stands() {
		t.Run(name, func(t *testing.T) {
			w := newRotation(t, 1, &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{}}) // certificates are valid for 41 days
			for day := range 60 {
				w.s.Now = w.s.Now.Add(24 * time.Hour)
				if day == 27 {
					w.issue("peer", "server", "client", "operator") // by the same issuer
				}
				for range 5 {
					w.s.Certificates = w.m.Judge(w.s, state.Certificates{Requested: false})
					w.s.MembershipKnown = false
					set(&w.s)
					w.act(Plan(w.s))
				}
			}
			for _, u := range state.Usages {
				if leaf, err := w.m.Pair(u).Leaf(); err != nil || !leaf.NotAfter.After(w.s.Now) {
					t.Errorf("it is %s, and the certificate of %ss expired at %s (%v), although cert-manager has issued another one. The status says: %s",
						w.s.Now.Format(time.DateOnly), u.Name, leaf.NotAfter.Format(time.DateOnly), err, steps.Describe(w.s, Plan(w.s)).Message)
				}
			}
		})
	}
}
