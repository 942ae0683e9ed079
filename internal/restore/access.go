package restore

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
	"github.com/etcd-suite/etcd-operator/internal/tlssecret"
)

// access reads from Kubernetes, and says what a namespace may read from stores: with the Secrets in it, or with the operator's own identity.
type access struct {
	client   client.Client
	identity grant.List
}

// get reads an object and returns false if it does not exist.
func (a *access) get(ctx context.Context, name types.NamespacedName, object client.Object) (found bool, err error) {
	err = a.client.Get(ctx, name, object)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %T %s: %w", object, name, err)
	}
	return true, nil
}

// by returns who opens the store for a namespace. The error says that the namespace may not use the path of src with that Secret, or with the
// operator's own identity.
func (a *access) by(namespace string, src v1beta2.RestoreSource, secret map[string][]byte, signers snapshot.Signers) (source.By, error) {
	by := source.By{Secret: secret, For: a.identity.Of(namespace), Signers: signers}
	return by, connect.Access{Location: storage.FromSource(src), Data: by.Secret, For: by.For}.Check()
}

// mayNotSign returns why the namespace may not read src with the operator's own identity. It is nil if it may.
func (a *access) mayNotSign(namespace string, src v1beta2.RestoreSource) error {
	if err := a.identity.Of(namespace).Check(true, src.Bucket, src.Key); err != nil {
		return err
	}
	_, err := a.by(namespace, src, nil, snapshot.Anyone)
	return err
}

// memberSecrets reads the Secrets for the members.
func (a *access) memberSecrets(ctx context.Context, namespace string, order state.SafetyOrder) (s SafetySecrets, err error) {
	if s.TLS, err = kube.SecretData(ctx, a.client, namespace, order.TLSSecret, tlssecret.Client.Read()...); err != nil {
		return s, err
	}
	s.Auth, err = kube.SecretData(ctx, a.client, namespace, order.AuthSecret, v1beta2.AuthUsernameKey, v1beta2.AuthPasswordKey)
	if errors.Is(err, kube.ErrSecretMissing) {
		return s, nil // authentication may be off
	}
	return s, err
}

// explainAccess adds the problem to an error if etcd refused the operator for lack of a user. While authentication is off, the
// EtcdCluster may name a Secret that is wrong or missing.
func explainAccess(a ask.Access, err error) error {
	if a.Problem == "" || etcd.RefusalOf(err) == etcd.NotRefused {
		return err
	}
	return fmt.Errorf("%s: %w", a.Problem, err)
}

func accessOf(o state.SafetyOrder, secrets SafetySecrets, dial Dial) (ask.Access, error) {
	a := ask.Access{Dial: dial}
	var err error
	if o.TLSSecret != "" {
		data := tlssecret.Client.Of(secrets.TLS)
		if a.TLS, err = etcd.TLSConfig(data[v1beta2.ClientCertKey], data[v1beta2.ClientKeyKey], data[v1beta2.ClientCAKey]); err != nil {
			return ask.Access{}, fmt.Errorf("the Secret %s has no usable client certificate: %w", o.TLSSecret, err)
		}
	}
	if o.AuthSecret != "" {
		if a.Login, err = etcd.NewLogin(secrets.Auth[v1beta2.AuthUsernameKey], secrets.Auth[v1beta2.AuthPasswordKey]); err != nil {
			a.Problem = fmt.Sprintf("the Secret %s has no usable user: %v", o.AuthSecret, err)
		}
	}
	return a, nil
}
