package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// Somebody deleted the Secret of clients. As long as the issuer was refused, the operator did not write it again, although cert-manager had
// the certificate. Clients that restarted did not start, and the operator did not reach the members.
func TestADeletedSecretIsWrittenAgainWhateverTheIssuerIs(t *testing.T) {
	for _, u := range state.Usages[:3] {
		w := newRotation(t, 1, &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{}})
		before := w.m.HandedOut[u.Name]
		delete(w.m.HandedOut, u.Name)
		w.s.Certificates = w.m.Judge(w.s, state.Certificates{IssuerRefused: "It is refused.", Unissued: "Another is not ready.", UnissuedReason: v1beta2.ReasonCertificateNotReady})
		step, _ := Choose(w.s)
		if _, writes := step.(steps.WriteCertificates); !writes || w.s.Certificates.Lacking {
			t.Errorf("without the Secret of %ss the plan is %T %+v", u.Name, step, step)
			continue
		}
		w.act(step)
		if after := w.m.HandedOut[u.Name]; after == nil || !after.Same(before) {
			t.Errorf("the Secret of %ss is not as before", u.Name)
		}
		w.s.Certificates = w.m.Judge(w.s, state.Certificates{IssuerRefused: "It is refused."})
		if again := certificates.RenewCertificates(w.s); again != nil {
			t.Errorf("the Secret of %ss is written again and again: %+v", u.Name, again)
		}
	}
}

// If cert-manager has no certificate to write, the status must say why.
func TestADeletedSecretWithoutACertificateIsReported(t *testing.T) {
	w := newRotation(t, 1, &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{}})
	delete(w.m.HandedOut, "client")
	delete(w.m.Issued, "client")
	w.s.Certificates = w.m.Judge(w.s, state.Certificates{IssuerRefused: "It is refused."})
	if wait, waits := Plan(w.s).(steps.Wait); !waits || !wait.Stalled || wait.Reason != v1beta2.ReasonIssuerNotAllowed {
		t.Errorf("the plan is %+v", Plan(w.s))
	}
}
