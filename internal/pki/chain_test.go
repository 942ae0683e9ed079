package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"math/big"
	"testing"
	"time"
)

// hostileChain returns a leaf with n intermediates, which all have the same key.
func hostileChain(t *testing.T, n int) (leaf *x509.Certificate, intermediates Bundle) {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	make := func(serial int64, ca bool) *x509.Certificate {
		tpl := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IsCA: ca, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
		der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		c, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for i := range n {
		intermediates = append(intermediates, make(int64(i+2), true))
	}
	return make(1, false), intermediates
}

// A tenant wrote a certificate with seven intermediates of one key into a Secret. The operator tried each after each other one, so one pass of the
// operator never ended, and a few such clusters stopped those of all namespaces.
func TestAChainOfOneKeyIsJudgedInTime(t *testing.T) {
	ca, err := NewCA("another", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 7, 100} {
		leaf, chain := hostileChain(t, n)
		began := time.Now()
		signed := Bundle{ca.Certificate()}.Signed(leaf, chain)
		if took := time.Since(began); signed || took > 2*time.Second {
			t.Errorf("%d intermediates: signed %t after %s", n, signed, took)
		}
	}
}
