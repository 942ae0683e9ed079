package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// invalid names the certificates of members and clients that nobody accepts now.
func (w *rotation) invalid() []string {
	var invalid []string
	for _, u := range state.Usages {
		cert, err := pki.ParseCertificate(w.m.Pair(u).Cert)
		if err != nil {
			w.Fatal(err)
		}
		signed := false
		for _, authority := range pki.ParseBundle(w.m.HandedOut[u.Name].Get(u.CaKey)) {
			valid := !authority.NotBefore.After(w.s.Now) && authority.NotAfter.After(w.s.Now)
			signed = signed || valid && cert.CheckSignatureFrom(authority) == nil
		}
		if cert.NotBefore.After(w.s.Now) || !cert.NotAfter.After(w.s.Now) || !signed {
			invalid = append(invalid, u.Name)
		}
	}
	return invalid
}

// The clock of the operator was ahead for one pass, so it issued certificates that are valid only in the future. It kept them for up to 60
// days after its clock was right again. Until then no member and no client could open a connection.
func TestCertificatesThatAreNotValidYetAreReplacedInOnePass(t *testing.T) {
	hours := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Hour} }
	for name, tls := range map[string]*v1beta2.TLSPolicy{
		"90 days": {Managed: &v1beta2.ManagedTLS{}},
		"1 day":   {Managed: &v1beta2.ManagedTLS{Duration: hours(24), RenewBefore: hours(8), CAOverlap: hours(1)}},
	} {
		w := newRotation(t, 1, tls)
		right := w.s.Now
		w.s.Now = right.Add(state.Validity(w.s).Duration - state.Validity(w.s).RenewBefore + time.Hour)
		w.judge()
		w.act(certificates.IssueCertificates(w.s)) // the operator cannot compare its clock
		w.s.Now = right.Add(time.Minute)
		w.judge()
		step := certificates.RenewCertificates(w.s)
		if step == nil || !strings.Contains(w.s.Certificates.Due, "it is not valid before") {
			t.Errorf("%s: the operator does %#v, due is %q", name, step, w.s.Certificates.Due)
			continue
		}
		w.act(step)
		if invalid := w.invalid(); len(invalid) > 0 {
			t.Errorf("%s: nobody accepts the certificates of %v", name, invalid)
		}
		w.judge()
		if step := certificates.IssueCertificates(w.s); step != nil {
			t.Errorf("%s: afterwards the operator does %#v", name, step)
		}
	}
}

// A CA that is not valid yet is of no use either: nobody accepts what it has signed.
func TestACAThatIsNotValidYetIsReplaced(t *testing.T) {
	for name, jump := range map[string]time.Duration{
		"its certificates are not valid yet either":             30 * 24 * time.Hour,
		"it replaced the first CA, which has almost run out":    9*365*24*time.Hour + 24*time.Hour,
		"it replaced the first CA, and both are due: the first": 10*365*24*time.Hour - time.Hour,
	} {
		w := newRotation(t, 1, managedFor(time.Hour))
		right := w.s.Now
		w.s.Now = right.Add(jump)
		if jump < 365*24*time.Hour {
			w.m = material.Material{HandedOut: map[string]*material.Secret{}} // the cluster was created meanwhile
		}
		for range 4 {
			w.judge()
			w.act(certificates.IssueCertificates(w.s))
		}
		w.s.Now = right.Add(time.Minute)
		for range 4 {
			w.judge()
			w.act(certificates.IssueCertificates(w.s))
		}
		if invalid := w.invalid(); len(invalid) > 0 {
			t.Errorf("%s: nobody accepts the certificates of %v", name, invalid)
		}
		if ca, err := material.Current(w.m); err != nil || ca.Certificate().NotBefore.After(w.s.Now) {
			t.Errorf("%s: the CA is valid from %v, and it is %s (%v)", name, ca.Certificate().NotBefore, w.s.Now, err)
		}
	}
}
