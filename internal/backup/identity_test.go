package backup

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

func TestANamespaceWithoutASecretCannotUseTheOperatorsIdentityUnlessAllowed(t *testing.T) {
	ca := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ca"}, Data: map[string][]byte{"ca.crt": []byte("pem"), "region": []byte("r")}}
	named := func(s *State) { s.Spec.S3.AWSSecret = "ca" }
	for name, test := range map[string]struct {
		allowed operator.Namespaces
		state   State
		refused bool
	}{
		"by default":                         {nil, one(), false},
		"if all are allowed":                 {operator.Namespaces{"*"}, one(), false},
		"if it is allowed":                   {operator.Namespaces{"other", "ns"}, one(), false},
		"not if another one is":              {operator.Namespaces{"other"}, one(), true},
		"not if none is":                     {operator.Namespaces{}, one(), true},
		"not by a Secret without credential": {operator.Namespaces{}, one(named), true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, ca)
			w.identity = test.allowed
			w.open = func(ctx context.Context, a connect.Access) (objstore.Store, error) {
				_, err := connect.Open(ctx, a)
				return w.store, err
			}
			r := w.attempt(test.state)
			refused := r.Failure != nil && r.Failure.Reason == "AccessDenied" && strings.Contains(r.Failure.Message, "ownIdentityNamespaces")
			if refused != test.refused || refused && len(w.saves) > 0 {
				t.Errorf("%+v after %d requests", r.Failure, len(w.saves))
			}
		})
	}
}
