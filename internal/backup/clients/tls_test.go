package clients

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/pki"
	"github.com/etcd-suite/etcd-operator/internal/tlssecret"
)

func TestABackupReadsACertificateUnderTheKeysOfEtcdOrThoseOfItsType(t *testing.T) {
	authority, err := pki.NewCA("etcd", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Issue(pki.Request{CommonName: "root", Client: true}, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range []tlssecret.Keys{tlssecret.Client, tlssecret.Standard} {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "tls"}, Data: map[string][]byte{keys.Cert: pair.Cert, keys.Key: pair.Key, keys.CA: authority.Cert},
		}
		c := &Clients{Secrets: fake.NewClientBuilder().WithObjects(secret).Build()}
		config, err := c.tls(t.Context(), state.JobSpec{Namespace: "ns", TLSSecret: "tls"})
		if err != nil || config == nil || config.RootCAs == nil {
			t.Errorf("with the keys %s: %v, %v", keys, config, err)
		}
	}
}
