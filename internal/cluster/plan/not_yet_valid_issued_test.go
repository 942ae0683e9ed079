package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// All clocks were ahead by 30 days when cert-manager issued the certificates in use, and are right again. No process accepts these for 30 days. A person
// renews them, so cert-manager has issued valid ones. But in each of these cases, the operator kept those that no process accepts.
func TestAValidCertificateReplacesOneThatIsNotValidYetAtOnce(t *testing.T) {
	for name, renew := range map[string]func(*rotation){
		"by a new CA": func(w *rotation) {
			w.newIssuer()
			w.issue("peer", "server", "client", "operator")
		},
		"with fewer names": func(w *rotation) {
			w.newIssuer()
			for _, u := range state.Usages {
				request := state.CertificateRequest(w.s, u)
				request.DNSNames = request.DNSNames[:min(1, len(request.DNSNames))]
				pair, err := w.issuer.Issue(request, w.s.Now, 1000*time.Hour)
				if err != nil {
					t.Fatal(err)
				}
				w.m.Issued[u.Name] = &material.Secret{Data: map[string][]byte{material.IssuedCertKey: pair.Cert, material.IssuedKeyKey: pair.Key, material.IssuedCAKey: w.issuer.Cert}}
			}
		},
	} {
		w := newRotation(t, 1, &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{}})
		w.s.Now = w.s.Now.Add(-30 * 24 * time.Hour)
		renew(w)
		w.judge()
		step := certificates.RenewCertificates(w.s)
		if step == nil {
			t.Errorf("%s: nothing is due", name)
			continue
		}
		w.act(step)
		if invalid := w.invalid(); len(invalid) > 0 {
			t.Errorf("%s: no process accepts the certificates of %v", name, invalid)
		}
	}
}
