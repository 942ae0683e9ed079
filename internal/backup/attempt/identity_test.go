package attempt_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients/clientstest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// A tenant wrote into the platform's bucket, because every namespace could use the operator's identity.
func TestANamespaceWithoutASecretCannotUseTheOperatorsIdentityUnlessAllowed(t *testing.T) {
	ca := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ca"}, Data: map[string][]byte{"ca.crt": []byte("pem"), "region": []byte("r")}}
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "keys"}, Data: map[string][]byte{"access-key-id": []byte("a"), "secret-access-key": []byte("b")}}
	named := func(name string) func(*state.State) { return func(s *state.State) { s.Spec.S3.AWSSecret = name } }
	path := statetest.One().Spec.S3.Path
	bucket, key, _ := strings.Cut(path, "/")
	for name, test := range map[string]struct {
		allowed grant.List
		state   state.State
		reason  string
	}{
		"is refused by default":                             {nil, statetest.One(), v1beta2.ReasonOwnIdentityNotAllowed},
		"is allowed if the list has *":                      {clientstest.Allowing("*", "*"), statetest.One(), ""},
		"is allowed if the list has the namespace":          {clientstest.Allowing("ns", "*"), statetest.One(), ""},
		"is refused if the list has only another namespace": {clientstest.Allowing("other", "*"), statetest.One(), v1beta2.ReasonOwnIdentityNotAllowed},
		"is refused for a Secret without credentials":       {nil, statetest.One(named("ca")), v1beta2.ReasonOwnIdentityNotAllowed},
		"is allowed below the prefix":                       {clientstest.Allowing("ns", bucket+"/"), statetest.One(), ""},
		"is refused beside the prefix":                      {clientstest.Allowing("ns", bucket+"/"+key+"x/"), statetest.One(), v1beta2.ReasonOwnIdentityNotAllowed},
		"is allowed with its own Secret":                    {nil, statetest.One(named("keys")), ""},
		"is refused with a Secret beside the prefix":        {clientstest.Allowing("ns", bucket+"/{namespace}/"), statetest.One(named("keys")), v1beta2.ReasonPathNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			w := attempttest.NewWorld(t, ca, keys)
			w.Identity = test.allowed
			w.Open = func(ctx context.Context, a connect.Access) (objstore.Store, error) {
				_, err := connect.Open(ctx, a)
				return w.Store, err
			}
			r := w.Attempt(test.state)
			if test.reason == "" {
				if r.Failure != nil {
					t.Errorf("refused: %+v", r.Failure)
				}
				return
			}
			if r.Failure == nil || r.Failure.Reason != test.reason || !strings.Contains(r.Failure.Message, "backupOperator.ownIdentity") || len(w.Saves) > 0 {
				t.Errorf("%+v after %d requests", r.Failure, len(w.Saves))
			}
		})
	}
}
