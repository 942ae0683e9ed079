package plan

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

// A restore with public keys reads the snapshot with them. If it cannot, it ends: to continue without them would restore an unsigned snapshot.
func TestARestoreWithPublicKeysRequiresASignature(t *testing.T) {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	with := func(keys []string, selector *v1beta2.SnapshotSelector) state.State {
		return given(func(s *state.State) {
			s.Restore.Spec.Signing, s.Restore.Spec.Select = &v1beta2.SigningKeys{PublicKeys: keys}, selector
		})
	}
	for name, s := range map[string]state.State{
		"one snapshot": with([]string{key}, nil), "the newest of a folder": with([]string{key, key}, &v1beta2.SnapshotSelector{}),
	} {
		if step, ok := next(s).(steps.Verify); !ok || !step.Signers.Required() {
			t.Errorf("%s: %+v", name, next(s))
		}
	}
	for name, s := range map[string]state.State{
		"no key":     with(nil, nil),
		"a bad key":  with([]string{key, "hunter2"}, nil),
		"a revision": with([]string{key}, &v1beta2.SnapshotSelector{Revision: 7}),
		"a time":     with([]string{key}, &v1beta2.SnapshotSelector{Time: &metav1.Time{Time: now}}),
	} {
		fail, ok := next(s).(steps.Fail)
		if !ok || fail.Reason != v1beta2.ReasonInvalidSpec || !strings.Contains(fail.Message, "cluster was not changed") || strings.Contains(fail.Message, "hunter2") {
			t.Errorf("%s: %+v", name, next(s))
		}
	}
	if step, ok := next(given()).(steps.Verify); !ok || step.Signers.Required() {
		t.Errorf("without public keys: %+v", step)
	}
}
