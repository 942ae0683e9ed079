package observe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/secrets"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/pki"
)

// The operators had no user, so authentication was not turned on: the configuration of a client keeps no parsed certificate.
func TestTheUserOfTheOperatorsIsTheCommonNameOfTheirCertificate(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	ca, err := pki.NewCA("ca", now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Issue(pki.Request{CommonName: "root", Client: true}, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	config, err := etcd.TLSConfig(pair.Cert, pair.Key, ca.Cert)
	if err != nil {
		t.Fatal(err)
	}
	if got := commonName(config); got != "root" {
		t.Errorf("the user is %q", got)
	}
	if got := commonName(nil); got != "" {
		t.Errorf("without a certificate the user is %q", got)
	}
}

// The API server cannot decrypt the Secret with the password of a user, for example after the key of its KMS was changed. Each pass failed, so no member of the cluster was
// repaired.
func TestAPasswordThatCannotBeReadHoldsUpNothingElse(t *testing.T) {
	api, v := clustertest.Beside(t, &corev1.Secret{ObjectMeta: clustertest.Controlled("uid-example", "job", nil), Data: map[string][]byte{v1beta2.AuthPasswordKey: []byte("long enough")}})
	live, ok := api.Client.(client.WithWatch)
	if !ok {
		t.Fatal("the client cannot watch")
	}
	api.Client = interceptor.NewClient(live, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if key.Name == "shop" {
				return apierrors.NewInternalError(errors.New("unable to transform key"))
			}
			return c.Get(ctx, key, object, options...)
		},
	})
	a := accounts{secrets: &secrets.Secrets{KubeAPI: api}}
	v.Spec.Auth = &v1beta2.AuthPolicy{Users: []v1beta2.AuthUser{{Name: "shop", PasswordSecret: "shop"}, {Name: "job", PasswordSecret: "job"}}}
	if err := a.observePasswords(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if said := v.Accounts.PasswordProblems["shop"]; !strings.Contains(said, "unable to transform key") || v.Accounts.PasswordVersions["job"] == "" {
		t.Errorf("the problem is %q, and the other passwords are %v", said, v.Accounts.PasswordVersions)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.observePasswords(ended, v); err == nil {
		t.Error("a pass that has ended reports a problem")
	}
}
