package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/material"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// Another party has taken the Certificate of the operator, and its Secret still exists. It was never renewed. Once it had expired, all members refused the
// operator, although the certificate of clients was valid and the status said that the operator used that one.
func TestAnExpiredCertificateThatIsNotRenewedGivesWayToThatOfClients(t *testing.T) {
	w := newRotation(t, 1, &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{}})
	w.m.Taken = "Certificate example-operator"
	delete(w.m.Issued, "operator")
	w.judge()
	if !w.s.Certificates.Operator {
		t.Error("the certificate of the operator is valid, and is not used")
	}
	message := func() string {
		for i := range w.s.Members {
			w.s.Members[i].Serving, w.s.Members[i].PodReady = true, true
		}
		w.s.MembershipKnown = true
		return steps.Describe(w.s, Plan(w.s)).Message
	}
	if said := message(); !strings.Contains(said, "until it expires") {
		t.Error(said)
	}
	w.s.Now = w.s.Now.Add(900 * time.Hour)
	w.issue("peer", "server", "client")
	w.goOn(time.Hour)
	w.s.Now = w.s.Now.Add(200 * time.Hour) // the first ones were valid for 1000 hours
	w.judge()
	if w.s.Certificates.Operator {
		t.Error("the operator uses a certificate that has expired")
	}
	if said := message(); !strings.Contains(said, "Until then the operators use the certificate of clients.") {
		t.Error(said)
	}
}

// All clocks were ahead by 30 days when the certificate of the operator was issued, and another party keeps it from being renewed. All members refuse it for
// 30 days, and accept that of clients.
func TestACertificateThatIsNotValidYetAndNotRenewedGivesWayToThatOfClients(t *testing.T) {
	w := newRotation(t, 1, &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{}})
	w.m.Taken = "Certificate example-operator"
	delete(w.m.Issued, "operator")
	w.s.Now = w.s.Now.Add(-30 * 24 * time.Hour)
	w.newIssuer()
	w.issue("peer", "server", "client")
	w.judge()
	w.act(certificates.RenewCertificates(w.s))
	w.judge()
	if w.s.Certificates.Operator {
		t.Error("the operator uses a certificate that is not valid yet")
	}
}

// The certificate of the operator has expired, and another party keeps it from renewal. So the operator uses that of clients, whose common name is root. If the spec asked
// for another name, the renewal took the permissions of the operator. The status said that a certificate in use has expired.
func TestTheCertificateOfClientsKeepsTheNameThatTheOperatorNeeds(t *testing.T) {
	w := earlier(t, &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{ClientCommonName: "shop"}})
	own, err := w.issuer.Issue(pki.Request{CommonName: state.RootUser, Client: true}, w.s.Now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	w.m.HandedOut[state.OperatorUsage] = &material.Secret{Data: map[string][]byte{
		v1beta2.ClientCertKey: own.Cert, v1beta2.ClientKeyKey: own.Key, v1beta2.ClientCAKey: w.m.HandedOut["client"].Get(v1beta2.ClientCAKey),
	}}
	w.m.Taken = "Certificate example-operator"
	w.judge()
	if name := w.m.ClientName(w.s); name != "shop" {
		t.Errorf("the operator has a valid certificate, and the next one of clients is for %s", name)
	}
	w.s.Now = w.s.Now.Add(2 * time.Hour)
	w.judge()
	if name := w.m.ClientName(w.s); name != state.RootUser {
		t.Errorf("the operator uses the certificate of clients, and the next one is for %s", name)
	}
	if said := state.WhyExpired(w.s); said != "" {
		t.Errorf("no certificate in use has expired, and the status says:%s", said)
	}
}
