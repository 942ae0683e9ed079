package attempt_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients/clientstest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
)

// streamed is a member that sends these bytes.
type streamed []byte

func (s streamed) Snapshot(context.Context) (io.ReadCloser, int64, error) {
	return io.NopCloser(strings.NewReader(string(s))), int64(len(s)), nil
}

func signs(s *state.State) { s.Spec.Signing = &v1beta2.Signing{Secret: "signing"} }

// signingSecret returns a Secret with a new key.
func signingSecret(t *testing.T) *corev1.Secret {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "signing"},
		Data:       map[string][]byte{v1beta2.SigningKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})},
	}
}

// newSigningWorld returns a world whose member sends a real database.
func newSigningWorld(t *testing.T, secret *corev1.Secret) *attempttest.World {
	w := attempttest.NewWorld(t, secret)
	content := dbfiletest.New(t, uint64(clientstest.Member("a", 41).Status.MemberID)).Put(60, 20).Snapshot()
	w.Source = func(string, ask.Access) save.Source { return streamed(content) }
	w.Hash = func(context.Context, string, ask.Access, int64) (uint32, int64, error) {
		return 0, 0, errors.New("not compared here")
	}
	w.Save, w.Drill = save.Snapshot, proof.RunRestoreTest
	return w
}

func TestASignedSnapshotIsSavedWithItsSignature(t *testing.T) {
	for name, given := range map[string]state.State{"a single snapshot": statetest.One(signs), "one of a series": statetest.Series(signs)} {
		w := newSigningWorld(t, signingSecret(t))
		r := w.Attempt(given)
		if r.Failure != nil || r.Snapshot == nil || len(r.Snapshot.SignedBy) != 16 {
			t.Fatalf("%s: %+v, %+v", name, r.Failure, r.Snapshot)
		}
		_, signers, err := w.Signing(t.Context(), state.JobSpecOf(given))
		if err != nil {
			t.Fatal(err)
		}
		m, err := snapshot.ManifestOf(t.Context(), w.Store, strings.TrimPrefix(r.Snapshot.Path, "bucket/"), signers)
		if err != nil || m.Signature.Key != r.Snapshot.SignedBy || len(r.Kept) != 1 || r.Kept[0].SignedBy != r.Snapshot.SignedBy {
			t.Errorf("%s: %+v, %v, kept %+v", name, m, err, r.Kept)
		}
	}
}

func TestNoSnapshotIsTakenIfItCannotBeSigned(t *testing.T) {
	secret := signingSecret(t)
	secret.Data[v1beta2.SigningKeyKey] = []byte("hunter2")
	w := newSigningWorld(t, secret)
	r := w.Attempt(statetest.One(signs))
	if r.Failure == nil || r.Failure.Reason != v1beta2.ReasonSecretMissing || strings.Contains(r.Failure.Message, "hunter2") || len(w.Keys()) > 0 {
		t.Errorf("%+v, the bucket has %q", r.Failure, w.Keys())
	}
}

// A user who can write to the bucket wrote a snapshot that looked like the one that was due, and the status named it.
func TestASeriesWhoseStatusWasLostTakesOnlyASignedSnapshotForItsOwn(t *testing.T) {
	w := attempttest.NewWorld(t, signingSecret(t))
	w.Attempt(statetest.Series()) // without a signature
	w.Now = statetest.At(statetest.T0.Add(59 * time.Minute))
	if r := w.Attempt(statetest.Series(signs)); r.Found || len(w.Saves) != 2 {
		t.Errorf("%d saves, %+v", len(w.Saves), r)
	}
}

func TestARestoreTestChecksTheSignatureThatTheStatusHasRecorded(t *testing.T) {
	rewrite := func(w *attempttest.World, path string, change func(key string, m snapshot.Manifest) snapshot.Manifest) {
		key := strings.TrimPrefix(path, "bucket/")
		m, err := snapshot.ManifestOf(t.Context(), w.Store, key, snapshot.Anyone)
		if err != nil {
			t.Fatal(err)
		}
		text, err := change(key, *m).Encode()
		if err := errors.Join(err, w.Store.Delete(t.Context(), snapshot.ManifestKey(key)), w.Store.Put(t.Context(), snapshot.ManifestKey(key), strings.NewReader(string(text)))); err != nil {
			t.Fatal(err)
		}
	}
	other, err := snapshot.ParseSigner(signingSecret(t).Data[v1beta2.SigningKeyKey])
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change          func(key string, m snapshot.Manifest) snapshot.Manifest
		result          v1beta2.DrillResult
		failed, verdict string
	}{
		"as it was saved":           {func(_ string, m snapshot.Manifest) snapshot.Manifest { return m }, v1beta2.DrillPassed, "", ".verdict-passed"},
		"without its signature":     {func(_ string, m snapshot.Manifest) snapshot.Manifest { m.Signature = snapshot.Signature{}; return m }, v1beta2.DrillFailed, "", ".verdict-failed"},
		"with another revision":     {func(_ string, m snapshot.Manifest) snapshot.Manifest { m.Revision++; return m }, v1beta2.DrillFailed, "", ".verdict-failed"},
		"signed with a foreign key": {other.Sign, "", v1beta2.ReasonSignatureInvalid, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSigningWorld(t, signingSecret(t))
			saved := w.Attempt(statetest.Series(signs))
			if saved.Failure != nil {
				t.Fatal(saved.Failure)
			}
			rewrite(w, saved.Snapshot.Path, test.change)
			r := w.DrillAgain(*saved.Snapshot, signs)
			if test.failed != "" {
				if r.Failure == nil || r.Failure.Reason != test.failed || r.Drill != nil {
					t.Errorf("%+v, %+v", r.Failure, r.Drill)
				}
			} else if r.Failure != nil || r.Drill == nil || r.Drill.Result != test.result {
				t.Errorf("%+v, %+v", r.Failure, r.Drill)
			}
			if verdicts := strings.Join(w.Keys(), " "); strings.Contains(verdicts, ".verdict-") != (test.verdict != "") || !strings.Contains(verdicts, test.verdict) {
				t.Errorf("the bucket has %s", verdicts)
			}
		})
	}
	t.Run("one from before the snapshots were signed", func(t *testing.T) {
		w := newSigningWorld(t, signingSecret(t))
		saved := w.Attempt(statetest.Series())
		if r := w.DrillAgain(*saved.Snapshot, signs); r.Failure != nil || r.Drill == nil || r.Drill.Result != v1beta2.DrillPassed {
			t.Errorf("%+v, %+v", r.Failure, r.Drill)
		}
	})
}
