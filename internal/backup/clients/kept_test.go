package clients

import (
	"crypto/x509"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/pki"
	"github.com/etcd-suite/etcd-operator/internal/pki/pkitest"
)

// The CA certificates of a hundred archives were in no sum of memory. A tenant chose them, and with them how much the operator kept for months.
func TestWhatABundleTakesIsCounted(t *testing.T) {
	bundle, server := pkitest.CAs(t, 190, 5) // the parts and certificates that fit
	used, restore := objstore.ReplaceMemory(8 << 20)
	defer restore()
	authority, err := pki.NewCA("etcd", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Issue(pki.Request{CommonName: "root", Client: true}, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "tls"}, Data: map[string][]byte{
		v1beta2.ClientCertKey: pair.Cert, v1beta2.ClientKeyKey: pair.Key, v1beta2.ClientCAKey: bundle,
	}}
	c := &Clients{Secrets: fake.NewClientBuilder().WithObjects(secret).Build()}
	o := state.JobSpec{Namespace: "ns", TLSSecret: "tls"}
	held := objstore.Keep("ns")
	heaptest.Holds(t, uint64(parsed*len(bundle))>>10, func() any {
		config, err := c.tls(Keeping(t.Context(), held), o)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = server.Verify(x509.VerifyOptions{Roots: config.RootCAs}) // as a handshake with a server that each of them may have signed
		return config
	})
	if n, want := used(), int64(parsed*(len(bundle)-usualSecret)); n < want {
		t.Errorf("a bundle of %d KiB counts as %d KiB", len(bundle)>>10, n>>10)
	}
	for err == nil {
		_, err = c.tls(Keeping(t.Context(), held), o)
	}
	if !errors.Is(err, objstore.ErrMemory) && !errors.Is(err, objstore.ErrListing) {
		t.Errorf("above the memory: %v", err)
	}
	held.Release()
	if used() != 0 {
		t.Errorf("%d KiB are counted after the archive has ended", used()>>10)
	}
	if _, err := c.tls(t.Context(), o); err != nil || used() != 0 {
		t.Errorf("for one attempt, %d KiB are counted: %v", used()>>10, err)
	}
}
