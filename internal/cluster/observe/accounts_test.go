package observe

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// The operators had no user, so authentication was not turned on: the configuration of a client keeps no parsed certificate.
func TestTheUserOfTheOperatorsIsTheCommonNameOfTheirCertificate(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	ca, err := pki.NewCA("ca", now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Issue(pki.Request{CommonName: "root", Client: true}, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	config, err := etcd.TLSConfig(pair.Cert, pair.Key, ca.Cert)
	if err != nil {
		t.Fatal(err)
	}
	if got := commonName(config); got != "root" {
		t.Errorf("the user is %q", got)
	}
	if got := commonName(nil); got != "" {
		t.Errorf("without a certificate the user is %q", got)
	}
}
