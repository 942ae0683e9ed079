package pkitest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

// CAs returns that many CA certificates in PEM, which all have the same subject with that many names of one letter, and a certificate of a server that each of them may have
// signed, by its name. An honest CA has about four names.
func CAs(t testing.TB, count, names int) (bundle []byte, server *x509.Certificate) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	subject := pkix.Name{CommonName: "ca", OrganizationalUnit: strings.Split(strings.Repeat("u", names), "")}
	certificate := func(n int64, of pkix.Name, isCA bool) []byte {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(n), Subject: of, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0), IsCA: isCA, BasicConstraintsValid: isCA,
		}
		parent := template
		if !isCA {
			parent = &x509.Certificate{Subject: subject}
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, public, private)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	var content bytes.Buffer
	for n := range count {
		content.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate(int64(n+1), subject, true)}))
	}
	if server, err = x509.ParseCertificate(certificate(1<<40, pkix.Name{CommonName: "server"}, false)); err != nil {
		t.Fatal(err)
	}
	return content.Bytes(), server
}
