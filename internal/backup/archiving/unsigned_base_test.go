package archiving

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// sign signs all snapshots, and requires that.
func (w *kept) sign() {
	w.T.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		w.T.Fatal(err)
	}
	secret, err1 := x509.MarshalPKCS8PrivateKey(private)
	known, err2 := x509.MarshalPKIXPublicKey(public)
	signer, err3 := snapshot.ParseSigner(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	signers, err4 := snapshot.ParseSigners(string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: known})))
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			w.T.Fatal(err)
		}
	}
	w.O.Keep.Signers = signers
	for _, key := range w.snapshots() {
		m, err := snapshot.ManifestOf(w.T.Context(), w, key, snapshot.Anyone)
		if err != nil {
			w.T.Fatal(err)
		}
		content, err := signer.Sign(key, *m).Encode()
		if err == nil {
			err = w.Delete(w.T.Context(), snapshot.ManifestKey(key))
		}
		if err != nil {
			w.T.Fatal(err)
		}
		attempttest.Place(w.T, w.Memory, snapshot.ManifestKey(key), string(content))
	}
}

// snapshots returns the keys of all snapshots.
func (w *kept) snapshots() []string {
	return slices.DeleteFunc(w.Keys(), func(key string) bool { _, is := snapshot.ParseKey(key); return !is })
}

// A lifecycle rule has moved all snapshots to an archive class, so a replay could begin only with one that a user wrote into the bucket. That user may delete
// nothing. Their manifest had a high revision, so the operator deleted the archive before that one, which all signed snapshots need.
func TestAnUnsignedSnapshotIsNotTheOnlyBaseOfAnArchive(t *testing.T) {
	for name, cold := range map[string]bool{"all is warm": false, "the signed snapshots are cold": true} {
		w := newKept(t, snapshot.Passed)
		w.sign()
		for _, key := range w.snapshots() {
			if cold {
				w.Set(key, objstoretest.Cold)
			}
		}
		alone := w.deletes()
		now := w.At
		w.At = now.Add(-3*time.Hour - 30*time.Minute)
		forged := w.Take(40, snapshot.Passed)
		w.At = now
		got := w.deletes()
		for _, key := range got {
			if !slices.Contains(alone, key) {
				t.Errorf("%s: %s is deleted, because others wrote %s", name, key, strings.TrimPrefix(forged, w.O.SeriesOf(1).Prefix()))
			}
		}
		if len(alone) == 0 {
			t.Errorf("%s: nothing is deleted", name)
		}
	}
}
