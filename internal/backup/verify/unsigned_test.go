package verify_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// Others can write to the bucket, and may delete nothing. They wrote a snapshot into the window of an archive whose snapshots are signed. The proof began with it and
// failed, so the operator reported a damaged archive and deleted nothing any more.
func TestNoProofBeginsOrEndsWithAnUnsignedSnapshotIfTheNewestIsSigned(t *testing.T) {
	w := attempttest.NewKept(t, snapshot.Passed)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret, err1 := x509.MarshalPKCS8PrivateKey(private)
	text, err2 := x509.MarshalPKIXPublicKey(public)
	signer, err3 := snapshot.ParseSigner(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	signers, err4 := snapshot.ParseSigners(string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: text})))
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			t.Fatal(err)
		}
	}
	survey, index, known := surveyed(t, w)
	survey.Drop()
	newest, forged := index.Items[0], index.Items[len(index.Items)-1]
	for _, item := range index.Items {
		if item.Key != forged.Key {
			content, err := signer.Sign(item.Key, known[item.Key].Manifest).Encode()
			if err != nil {
				t.Fatal(err)
			}
			w.Place(snapshot.ManifestKey(item.Key), content)
		}
	}
	o, revision := w.O, known[newest.Key].Manifest.Revision
	o.Newest = o.Shown(newest.Key, known[newest.Key].Manifest, snapshot.Anyone)
	if from, _, found, err := verify.ChooseInterval(t.Context(), o, w, revision); err != nil || !found || from != forged.Key {
		t.Fatalf("without signing: found %t, from %q: %v", found, from, err)
	}
	o.Keep.Signers = signers
	from, to, found, err := verify.ChooseInterval(t.Context(), o, w, revision)
	if err != nil || !found || slices.Contains([]string{from, to}, forged.Key) {
		t.Errorf("found %t, from %q to %s: %v", found, from, to, err)
	}
}
