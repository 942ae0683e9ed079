package etcd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// A tenant writes an RSA key of 26 KiB into the Secret of a client certificate. A Secret may have 1 MiB. To read the key took more than 30 s, and
// nothing can end that, so a few such Secrets stopped the operators for all namespaces.
func TestAHugeKeyIsRefusedAtOnce(t *testing.T) {
	odd := func(bits int) *big.Int {
		b := make([]byte, bits/8)
		_, _ = rand.Read(b)
		b[0], b[len(b)-1] = b[0]|0xc0, b[len(b)-1]|1
		return new(big.Int).SetBytes(b)
	}
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
	p, q := odd(32768), odd(32768)
	der, err := asn1.Marshal(struct {
		Version int
		N       *big.Int
		E       int
		D, P, Q *big.Int
	}{0, new(big.Int).Mul(p, q), 65537, odd(32768), p, q})
	if err != nil {
		t.Fatal(err)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: der})
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
