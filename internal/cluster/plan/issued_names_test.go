package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// A tool or a person changes a Certificate, and cert-manager issues at once what it asks for. The operator handed that out before it corrected the
// Certificate, and for good if the cluster was paused. All members and clients then refuse each other, because no name fits any more.
func TestACertificateThatLosesWhatTheOneInUseCoversIsNotHandedOut(t *testing.T) {
	for what, spoil := range map[string]func(*pki.Request){
		"DNS names":   func(r *pki.Request) { r.DNSNames = []string{"elsewhere.example"} },
		"common name": func(r *pki.Request) { r.CommonName = "elsewhere" },
		"usages":      func(r *pki.Request) { r.Server, r.Client = !r.Server, r.Server },
	} {
		for _, u := range state.Usages {
			if member := u.Name == "peer" || u.Name == "server"; what == "DNS names" && !member || what == "common name" && member {
				continue // clients need no DNS name, and etcd ignores the common name of members
			}
			for _, paused := range []bool{true, false} {
				w := newRotation(t, 1, &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{}})
				before := w.m.Pair(u)
				request := state.CertificateRequest(w.s, u)
				spoil(&request)
				pair, err := w.issuer.Issue(request, w.s.Now, 1000*3600*1e9)
				if err != nil {
					t.Fatal(err)
				}
				w.m.Issued[u.Name] = &material.Secret{Data: map[string][]byte{material.IssuedCertKey: pair.Cert, material.IssuedKeyKey: pair.Key, material.IssuedCAKey: w.issuer.Cert}}
				w.s.Spec.Paused = paused
				for range 3 {
					w.s.Certificates = w.m.Judge(w.s, state.Certificates{Requested: false})
					w.act(Plan(w.s))
				}
				if !w.m.Pair(u).Same(before) {
					t.Errorf("paused %t: the certificate of %ss in use got other %s", paused, u.Name, what)
				}
			}
		}
	}
}
