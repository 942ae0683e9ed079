package inventory

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
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

// An EtcdRestore to a revision waits. The operator keeps what the newest snapshots before it need, and others wrote three of these.
func TestUnsignedSnapshotsTakeNoPlaceOfWhatAWaitingRestoreMayBeginWith(t *testing.T) {
	w := newKept(t, snapshot.Passed)
	w.sign()
	now := w.At
	for minute := range 3 {
		w.At = statetest.T0.Add(time.Hour + time.Duration(minute+5)*time.Minute)
		w.Take(13, snapshot.Passed)
	}
	w.At = now
	spec := v1beta2.EtcdRestoreSpec{BackupStorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: w.O.Target.Bucket}}, Select: &v1beta2.SnapshotSelector{Revision: 14}}
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: w.O.Namespace, Name: "rescue"}, Spec: spec}).Build()
	selections, err := (&clients.Clients{Secrets: api}).Selections(t.Context(), w.O)
	if err != nil || len(selections) != 1 {
		t.Fatal(selections, err)
	}
	known := catalog.Known{}
	f, err := Of(t.Context(), w, w.O, known)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Survey.Drop()
	names, _, err := OutdatedBy(t.Context(), w, w.O, f.Survey, f.Index, known, SelectedBases(w.O, selections, f.Bases, known)...)
	if err != nil || len(names) > 0 {
		t.Errorf("%v is deleted: %v", names, err)
	}
}
