package plan

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// A tenant writes a certificate with intermediates of one key into the Secret <cluster>-client-tls. Its judgement never ended, so that one pass of the
// operator no longer served any other cluster.
func TestACertificateOfATenantIsJudgedInTime(t *testing.T) {
	w := newRotation(t, 1, &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}})
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	var chain []byte
	for serial := range 7 {
		tpl := &x509.Certificate{SerialNumber: big.NewInt(int64(serial) + 1), NotAfter: noon.Add(time.Hour), IsCA: serial > 0, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
		der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	der, _ := x509.MarshalECPrivateKey(key)
	w.m.HandedOut["client"].Data["etcd-client.crt"] = chain
	w.m.HandedOut["client"].Data["etcd-client.key"] = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	done := make(chan struct{})
	go func() { w.m.Judge(w.s, state.Certificates{}); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("the judgement of a Secret of %d bytes has not ended after 20 s", len(chain))
	}
}
