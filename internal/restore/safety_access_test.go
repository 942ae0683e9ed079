package restore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/internal/pki"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/tlssecret"
)

// While authentication is off, a wrong or missing Secret of the user must not prevent the safety snapshot.
func TestASafetySnapshotNeedsNoUserWhileAuthenticationIsOff(t *testing.T) {
	by, err := accessOf(state.SafetyOrder{AuthSecret: "login"}, SafetySecrets{}, nil)
	if err != nil || by.Login != nil {
		t.Fatalf("access is %+v, %v", by, err)
	}
	refused := fmt.Errorf("status: %w", rpctypes.ErrUserEmpty)
	if err := explainAccess(by, refused); !errors.Is(err, rpctypes.ErrUserEmpty) || !strings.Contains(err.Error(), "Secret login") {
		t.Errorf("a refusal is explained as %v", err)
	}
	if other := errors.New("connection refused"); !errors.Is(explainAccess(by, other), other) || explainAccess(by, other).Error() != other.Error() {
		t.Errorf("another error is explained as %v", explainAccess(by, other))
	}
}

func TestASafetySnapshotReadsACertificateUnderTheKeysOfEtcdOrThoseOfItsType(t *testing.T) {
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
		r := &access{client: fake.NewClientBuilder().WithObjects(secret).Build()}
		order := state.SafetyOrder{TLSSecret: "tls"}
		secrets, err := r.memberSecrets(t.Context(), "ns", order)
		if err != nil {
			t.Fatal(err)
		}
		if by, err := accessOf(order, secrets, nil); err != nil || by.TLS == nil || by.TLS.RootCAs == nil {
			t.Errorf("with the keys %s: %+v, %v", keys, by.TLS, err)
		}
	}
}
