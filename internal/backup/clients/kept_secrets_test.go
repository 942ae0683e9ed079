package clients

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// An archive runs for months, and opens its store again after each failure. What its Secret has must count once: counted never, many archives exceed the memory, and counted
// at each failure, an archive ends although nothing has grown.
func TestTheSecretOfAStoreCountsOnceUntilTheArchiveEnds(t *testing.T) {
	used, restore := objstore.ReplaceMemory(16 << 20)
	defer restore()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s3"}, Data: map[string][]byte{v1beta2.CAKey: bytes.Repeat([]byte("x"), 200<<10)}}
	now, opened := time.Unix(0, 0), error(nil)
	r := &Clients{
		Secrets: fake.NewClientBuilder().WithObjects(secret).Build(), Identity: grant.Everything(), Now: func() time.Time { return now },
		Open: func(context.Context, connect.Access) (objstore.Store, error) { return objstoretest.NewMemory(), opened },
	}
	o := state.JobSpec{Namespace: "ns"}
	o.Target.Secret = "s3"
	secrets := r.SecretsOf("ns")
	opening, err := secrets.LastingStore(t.Context(), o)
	once := used()
	if err != nil || once < 200<<10 {
		t.Fatalf("%d KiB are counted, error %v", once>>10, err)
	}
	store, _ := opening.(*reopened)
	for i := range 20 {
		if opened = nil; i%2 == 0 {
			opened = errors.New("the store does not answer")
		}
		store.note(t.Context(), errors.New("the request has failed"))
		now = now.Add(time.Hour)
		store.present(t.Context())
		if used() != once {
			t.Fatalf("after %d failures, %d KiB are counted, and before %d KiB", i+1, used()>>10, once>>10)
		}
	}
	secrets.Release()
	store.note(t.Context(), errors.New("the request has failed"))
	now = now.Add(time.Hour)
	store.present(t.Context())
	if used() != 0 {
		t.Errorf("%d KiB are counted after the archive has ended", used()>>10)
	}
}
