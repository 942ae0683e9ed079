package source

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// signingKey returns a key pair.
func (s shelf) signingKey() (*snapshot.Signer, snapshot.Signers) {
	s.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		s.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		s.Fatal(err)
	}
	signer, err := snapshot.ParseSigner(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err != nil {
		s.Fatal(err)
	}
	return signer, signer.Signers(snapshot.Anyone)
}

func (s shelf) sign(by *snapshot.Signer, key string) {
	s.rewrite(key, func(m *snapshot.Manifest) { *m = by.Sign(key, *m) })
}

// TestNoOlderSnapshotIsTakenForOneWithoutASignature: who can write to the bucket could otherwise choose which older snapshot is restored, by a newer
// one that does not count.
func TestNoOlderSnapshotIsTakenForOneWithoutASignature(t *testing.T) {
	for name, test := range map[string]struct {
		change func(s shelf, key string)
		want   error
	}{
		"it has no signature": {func(s shelf, key string) {
			s.rewrite(key, func(m *snapshot.Manifest) { m.Signature = snapshot.Signature{} })
		}, snapshot.ErrNotSigned},
		"its manifest was changed":           {func(s shelf, key string) { s.rewrite(key, withoutQuorum) }, snapshot.ErrSignature},
		"another key has signed it":          {func(s shelf, key string) { other, _ := s.signingKey(); s.sign(other, key) }, snapshot.ErrUnknownSigner},
		"it is signed as it has to be":       {func(shelf, string) {}, nil},
		"only an older one has no signature": {func(s shelf, _ string) { s.saved("a", 1, 0) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			signer, signers := s.signingKey()
			s.sign(signer, s.saved("a", 1, 1))
			newest := s.saved("a", 1, 2)
			s.sign(signer, newest)
			test.change(s, newest)
			by, src := By{Signers: signers}, v1beta2.RestoreSource{StorageType: "File", Bucket: s.bucket, Key: "daily/"}
			found, _, err := Find(t.Context(), src, by, Choice{Folder: true})
			if !errors.Is(err, test.want) || Final(err) != (test.want != nil) || err == nil && found.Key != newest {
				t.Errorf("of a folder: %s, error %v, want %v", found.Key, err, test.want)
			}
			src.Key = newest
			found, _, err = Find(t.Context(), src, by, Choice{Fallback: "daily/ns/a/"})
			if !errors.Is(err, test.want) || err == nil && found.Key != newest {
				t.Errorf("of an EtcdBackup: %s, error %v, want %v", found.Key, err, test.want)
			}
		})
	}
}

// TestAPointIsNotFoundIfASignatureIsRequired: the segments of an archive have no signatures, so a signed base would prove nothing.
func TestAPointIsNotFoundIfASignatureIsRequired(t *testing.T) {
	s := newShelf(t)
	signer, signers := s.signingKey()
	s.sign(signer, s.saved("a", 1, 1))
	src := v1beta2.RestoreSource{StorageType: "File", Bucket: s.bucket, Key: "daily/"}
	_, err := FindPoint(t.Context(), src, By{Signers: signers}, Choice{Folder: true, Revision: 2}, archive.Progress{})
	if !errors.Is(err, snapshot.ErrNotSigned) || !strings.Contains(err.Error(), "continuous archive has no signatures") {
		t.Error(err)
	}
}
