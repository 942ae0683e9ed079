package etcd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/pki/pkitest"
)

// A tenant writes an RSA key of 26 KiB into the Secret of a client certificate. A Secret may have 1 MiB. To read the key took more than 30 s, and
// nothing can end that, so a few such Secrets stopped the operators for all namespaces.
func TestAHugeKeyIsRefusedAtOnce(t *testing.T) {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	leaf, err := x509.CreateCertificate(rand.Reader, template, template, &own.PublicKey, own)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf})
	key := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: pkitest.HugeKey(t)})
	done := make(chan error, 1)
	began := time.Now()
	go func() { _, err := TLSConfig(cert, key, cert); done <- err }()
	select {
	case err := <-done:
		if err == nil {
			t.Errorf("the key was read in %s", time.Since(began))
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("a key of %d KiB is still being read after %v", len(key)>>10, time.Since(began))
	}
}
