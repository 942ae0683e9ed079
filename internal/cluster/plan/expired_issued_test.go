package plan

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// The issuer has changed, and cert-manager then stands still until what it has issued has expired. The certificates of the issuer before are still valid.
func TestAValidCertificateIsNotSwitchedForAnExpiredOne(t *testing.T) {
	w := newRotation(t, 1, &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{}})
	w.newIssuer()
	for _, u := range state.Usages {
		pair, err := w.issuer.Issue(state.CertificateRequest(w.s, u), w.s.Now, 12*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		w.m.Issued[u.Name] = &material.Secret{Data: map[string][]byte{material.IssuedCertKey: pair.Cert, material.IssuedKeyKey: pair.Key, material.IssuedCAKey: w.issuer.Cert}}
	}
	w.goOn(30 * time.Hour)
	for _, u := range state.Usages {
		if leaf, err := w.m.Pair(u).Leaf(); err != nil || !w.s.Now.Before(leaf.NotAfter) {
			t.Errorf("the certificate of %ss in use expired at %s; it is %s", u.Name, leaf.NotAfter, w.s.Now)
		}
	}
}

// goOn carries out the plan for a time, in steps of ten minutes.
func (w *rotation) goOn(d time.Duration) {
	for end := w.s.Now.Add(d); w.s.Now.Before(end); w.tick(10) {
		for range 5 {
			w.judge()
			w.act(w.plan(w.s))
			for _, l := range w.members {
				l.down = 0
			}
		}
	}
}

// Members and clients check each other's certificates, and not that of the operator.
func TestTheStatusDoesNotSayThatClientsAreRefusedIfOnlyTheOperatorsCertificateHasExpired(t *testing.T) {
	s := stateWith(formed, members(3), withTLS, cutOff, silentFor(time.Hour), certs(func(c *state.Certificates) { c.Expires = noon.Add(-time.Hour) }))
	said := steps.Describe(s, Plan(s)).Message
	if strings.Contains(said, "members and clients refuse each other") {
		t.Error(said)
	}
}

// The Secrets of cert-manager are restored from a backup, and hold certificates that have expired since. cert-manager cannot renew them at once.
func TestARenewedCertificateIsNotReplacedByTheExpiredOneBeforeIt(t *testing.T) {
	w := newRotation(t, 1, &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{}})
	backup := maps.Clone(w.m.Issued)
	w.s.Now = w.s.Now.Add(900 * time.Hour)
	w.issue("peer", "server", "client", "operator")
	w.goOn(time.Hour)
	w.s.Now = w.s.Now.Add(200 * time.Hour) // the first ones were valid for 1000 hours
	w.m.Issued = backup
	w.goOn(time.Hour)
	for _, u := range state.Usages {
		if leaf, err := w.m.Pair(u).Leaf(); err != nil || !w.s.Now.Before(leaf.NotAfter) {
			t.Errorf("the certificate of %ss in use expired at %s; it is %s", u.Name, leaf.NotAfter, w.s.Now)
		}
	}
}
