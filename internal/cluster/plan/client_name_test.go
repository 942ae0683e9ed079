package plan

import (
	"testing"
	"time"
)

// With authentication on, etcd would refuse all requests of applications that were root before.
func TestClientsOfAnEarlierReleaseKeepRootIfTheirSecretIsDeleted(t *testing.T) {
	w := earlier(t, managedFor(time.Hour))
	w.follow()
	if got := w.commonName("client"); got != rootUser {
		t.Fatalf("the common name is %s", got)
	}
	delete(w.m.HandedOut, "client") // a person deletes the Secret to have it issued again; authentication is on
	w.s.ClientName = w.m.ClientName(w.s)
	w.judge()
	w.act(issueCertificates(w.s))
	if got := w.commonName("client"); got != rootUser {
		t.Errorf("applications were root, and are %s now, a user that etcd does not know", got)
	}
}
