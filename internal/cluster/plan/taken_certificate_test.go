package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
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
