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
)

// With authentication on, etcd would refuse all requests of applications that were root before.
func TestClientsOfAnEarlierReleaseKeepRootIfTheirSecretIsDeleted(t *testing.T) {
	w := earlier(t, managedFor(time.Hour))
	w.follow()
	if got := w.commonName("client"); got != state.RootUser {
		t.Fatalf("the common name is %s", got)
	}
	delete(w.m.HandedOut, "client") // a person deletes the Secret so that the operator reissues it; authentication is on
	w.s.ClientName = w.m.ClientName(w.s)
	w.judge()
	w.act(certificates.IssueCertificates(w.s))
	if got := w.commonName("client"); got != state.RootUser {
		t.Errorf("applications were root, and are %s now, a user that etcd does not know", got)
	}
}

// The operator may be killed after it wrote another name to only some of the Secrets. Clients must not become root then: root
// may read and change everything.
func TestClientsBecomeRootOnlyIfAllSecretsAgree(t *testing.T) {
	w := earlier(t, managedFor(time.Hour))
	w.follow()
	delete(w.m.HandedOut, "client")
	w.m.HandedOut["peer"].Annotations[material.AnnotationClientName] = "shop"
	if got := w.m.ClientName(w.s); got == state.RootUser {
		t.Errorf("clients become %s", got)
	}
}

// The operator does not change a Secret that belongs to a user. It neither writes its own certificate nor waits for it.
func TestACertificateWhoseSecretAnotherOwnerHasIsNotIssued(t *testing.T) {
	w := earlier(t, managedFor(time.Hour))
	w.m.Taken = "Secret example-operator-tls"
	w.judge()
	if step := Plan(w.s); w.s.Certificates.Due != "" || step == nil {
		t.Errorf("due: %s, the plan is %+v", w.s.Certificates.Due, step)
	}
	for _, u := range state.Usages {
		if held, err := w.m.NewSecret(w.s, u, steps.WriteCertificates{}); err != nil || (held == nil) == u.Vital() {
			t.Errorf("the Secret for %s is %v, %v", u.Name, held, err)
		}
	}
	wait, _ := certificates.UnissuedCertificates(w.s).(steps.Wait)
	if wait.Reason != v1beta2.ReasonNotOurs || !strings.HasPrefix(wait.Message, "Secret example-operator-tls exists") {
		t.Errorf("the report is %+v", wait)
	}
}
