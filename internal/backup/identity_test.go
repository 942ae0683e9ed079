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
		"is allowed by default":                             {nil, one(), false},
		"is allowed if the list has *":                      {operator.Namespaces{"*"}, one(), false},
		"is allowed if the list has the namespace":          {operator.Namespaces{"other", "ns"}, one(), false},
		"is refused if the list has only another namespace": {operator.Namespaces{"other"}, one(), true},
		"is refused if the list is empty":                   {operator.Namespaces{}, one(), true},
		"is refused for a Secret without credentials":       {operator.Namespaces{}, one(named), true},
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
