package pki

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/pki/pkitest"
)

// Users bring keys of any issuer. If one of these were refused, the members of a running cluster could not be asked any more.
func TestKeysOfAllKindsAreRead(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	curve, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	_, edwards, _ := ed25519.GenerateKey(rand.Reader)
	curveDER, _ := x509.MarshalECPrivateKey(curve)
	pkcs8 := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	for name, test := range map[string]struct {
		kind string
		der  []byte
		key  interface{ Public() any }
	}{
		"RSA, PKCS #1":     {"RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(small), public{small.Public()}},
		"RSA, PKCS #8":     {"PRIVATE KEY", pkcs8(small), public{small.Public()}},
		"EC, SEC 1":        {"EC PRIVATE KEY", curveDER, public{curve.Public()}},
		"EC, PKCS #8":      {"PRIVATE KEY", pkcs8(curve), public{curve.Public()}},
		"Ed25519, PKCS #8": {"PRIVATE KEY", pkcs8(edwards), public{edwards.Public()}},
	} {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
		ca, err := NewCA("ca", time.Now(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.CreateCertificate(rand.Reader, template, ca.cert, test.key.Public(), ca.key)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ParsePair(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf}), pem.EncodeToMemory(&pem.Block{Type: test.kind, Bytes: test.der}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Google's library takes a block of any type, and DER without a block. A bound that looks at the type alone lets a Secret stop an operator.
func TestAHugeKeyIsRefusedInEachForm(t *testing.T) {
	der := pkitest.HugeKey(t)
	pkcs8, err := asn1.Marshal(struct {
		Version   int
		Algorithm pkix.AlgorithmIdentifier
		Key       []byte
	}{0, pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}}, der})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"DER": der, "PKCS #8 in DER": pkcs8} {
		forms := map[string][]byte{name: content}
		for _, kind := range []string{"RSA PRIVATE KEY", "PRIVATE KEY", "KEY", "CERTIFICATE"} {
			forms[name+" in a block "+kind] = pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
		}
		for form, key := range forms {
			if err := CheckKey(key); err == nil {
				t.Errorf("%s is accepted", form)
			}
		}
	}
}

type public struct{ key any }

func (p public) Public() any { return p.key }

// parsers are the functions that compute something from a key or a certificate before they bound it.
var parsers = regexp.MustCompile(`(?:x509\.Parse(?:PKCS1|PKCS8|EC)PrivateKey|x509\.ParseCertificates?|tls\.(?:Load)?X509KeyPair|AppendCertsFromPEM)\(`)

// readers are the files outside of this package that use one of them.
var readers = map[string]string{
	"internal/operator/metrics.go":         "the file of the operator's own certificate, which the administrator mounts",
	"internal/snapshot/sign.go":            "after CheckKey",
	"internal/plugin/cli/session/look.go":  "on the machine of the person who asks",
	"internal/storage/reach/reach.go":      "the certificates of the administrator, after ParseBundle",
	"internal/cluster/observe/accounts.go": "after ParsePair",
	"internal/pki/ca.go":                   "an EC key has one of four sizes",
	"internal/pki/read.go":                 "here",
	"internal/pki/pool.go":                 "after ParseBundle",
	"internal/pki/pkitest/bundle.go":       "its own, in tests",
}

// A new place that reads a key of a Secret by itself would let one Secret stop an operator.
func TestKeysAndCertificatesAreReadByOnePackage(t *testing.T) {
	var found []string
	err := filepath.WalkDir("../..", func(path string, _ os.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
		if err != nil || !strings.HasPrefix(name, "internal/") && !strings.HasPrefix(name, "cmd/") || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil && parsers.Match(content) {
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		if readers[name] == "" {
			t.Errorf("%s reads a key or a certificate by itself. Use ParsePair, CheckKey, ParseBundle or Pool, or say here why it is safe", name)
		}
	}
	for name := range readers {
		if !slices.Contains(found, name) {
			t.Errorf("%s reads no key any more: remove it here", name)
		}
	}
}
