package pki

import (
	"testing"
	"time"
)

func TestTheCertificateThatExpiresFirstIsFound(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ca, err := NewCA("test", now, 100*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	var texts [][]byte
	for _, valid := range []time.Duration{3 * time.Hour, time.Hour, 2 * time.Hour} {
		pair, err := ca.Issue(Request{CommonName: "x", Client: true}, now, valid)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, pair.Cert)
	}
	if got := FirstToExpire(append(texts, nil, []byte("no certificate"))...); !got.NotAfter.Equal(now.Add(time.Hour)) {
		t.Errorf("it expires at %s", got.NotAfter)
	}
	if got := FirstToExpire(nil); got != nil {
		t.Errorf("without a certificate, one expires at %s", got.NotAfter)
	}
}
