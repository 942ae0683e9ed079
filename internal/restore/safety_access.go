package restore

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/tlssecret"
)

func (r *Reconciler) safetySecrets(ctx context.Context, namespace string, order state.SafetyOrder) (s SafetySecrets, err error) {
	if s.Store, err = kube.SecretData(ctx, r.client, namespace, order.Target.Secret, connect.Keys()...); err != nil {
		return s, err
	}
	target := order.Target
	target.Key = snapshot.Series{Folder: target.Key, Namespace: order.Namespace, Cluster: order.Cluster}.Lives()
	by, err := r.by(namespace, target.Source(), s.Store, snapshot.Anyone)
	if err != nil {
		return s, err
	}
	members, err := r.memberSecrets(ctx, namespace, order)
	members.Store, members.For = s.Store, by.For
	return members, err
}

// memberSecrets reads the Secrets for the members.
func (r *Reconciler) memberSecrets(ctx context.Context, namespace string, order state.SafetyOrder) (s SafetySecrets, err error) {
	if s.TLS, err = kube.SecretData(ctx, r.client, namespace, order.TLSSecret, tlssecret.Client.Read()...); err != nil {
		return s, err
	}
	s.Auth, err = kube.SecretData(ctx, r.client, namespace, order.AuthSecret, v1beta2.AuthUsernameKey, v1beta2.AuthPasswordKey)
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
