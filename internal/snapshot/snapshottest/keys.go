package snapshottest

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"filippo.io/age"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// How objects begin that are encrypted with age, or compressed with zstd.
const (
	AgeStart  = "age-encryption.org/v1\n"
	ZstdStart = "\x28\xb5\x2f\xfd"
)

// KeyPair returns a new recipient and its identity.
func KeyPair(t testing.TB) (recipient string, identity []byte) {
	t.Helper()
	pair, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return pair.Recipient().String(), []byte("# made by a test\n" + pair.String() + "\n")
}

// SigningKey returns a key pair.
func SigningKey(t testing.TB) (*snapshot.Signer, snapshot.Signers) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := snapshot.ParseSigner(PemOf(t, "PRIVATE KEY", private))
	if err != nil {
		t.Fatal(err)
	}
	signers, err := snapshot.ParseSigners(string(PemOf(t, "PUBLIC KEY", private.Public())))
	if err != nil {
		t.Fatal(err)
	}
	return signer, signers
}

// PemOf returns a key as PEM.
func PemOf(t testing.TB, kind string, key any) []byte {
	t.Helper()
	marshal := x509.MarshalPKIXPublicKey
	if kind == "PRIVATE KEY" {
		marshal = x509.MarshalPKCS8PrivateKey
	}
	der, err := marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
