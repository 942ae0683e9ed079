package restore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/restore/plan"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// Dial opens a client of one member.
type Dial func(endpoint etcd.Endpoint, tlsConfig *tls.Config) (*etcd.Client, error)

// open is Dial without options.
func open(endpoint etcd.Endpoint, tlsConfig *tls.Config) (*etcd.Client, error) {
	return etcd.Open(endpoint, tlsConfig)
}

// SafetySecrets are the contents of the Secrets for a safety snapshot: of the store, of the operators' client certificate,
// and of their user. The last two are nil if the cluster has none. For is what may be used at the store.
type SafetySecrets struct {
	Store, TLS, Auth map[string][]byte
	For              grant.Scope
}

func (r *Reconciler) safetySecrets(ctx context.Context, namespace string, order plan.SafetyOrder) (s SafetySecrets, err error) {
	if s.Store, err = kube.SecretData(ctx, r.client, namespace, order.Target.Secret); err != nil {
		return s, err
	}
	target := order.Target
	target.Key = snapshot.Series{Folder: target.Key, Namespace: order.Namespace, Cluster: order.Cluster}.Lives()
	by, err := r.by(namespace, target.Source(), s.Store, snapshot.Anyone)
	if err != nil {
		return s, err
	}
	s.For = by.For
	if s.TLS, err = kube.SecretData(ctx, r.client, namespace, order.TLSSecret); err != nil {
		return s, err
	}
	s.Auth, err = kube.SecretData(ctx, r.client, namespace, order.AuthSecret)
	if errors.Is(err, kube.ErrSecretMissing) {
		return s, nil // authentication may be off
	}
	return s, err
}

// access is how restore-operator identifies itself to the members.
type access struct {
	tls *tls.Config
	// login is nil without a usable user. problem says why it is not usable.
	login   *etcd.Login
	problem string
	dial    Dial
}

// explain adds the problem to an error if etcd refused the operator for lack of a user. While authentication is off, the
// EtcdCluster may name a Secret that is wrong or missing.
func (a access) explain(err error) error {
	if a.problem == "" || etcd.RefusalOf(err) == etcd.NotRefused {
		return err
	}
	return fmt.Errorf("%s: %w", a.problem, err)
}

func (a access) open(url string) (*etcd.Client, error) {
	return a.dial(etcd.Endpoint{URL: url, Login: a.login}, a.tls)
}

func accessOf(o plan.SafetyOrder, secrets SafetySecrets, dial Dial) (access, error) {
	a := access{dial: dial}
	var err error
	if o.TLSSecret != "" {
		if a.tls, err = etcd.TLSConfig(secrets.TLS[v1beta2.ClientCertKey], secrets.TLS[v1beta2.ClientKeyKey], secrets.TLS[v1beta2.ClientCAKey]); err != nil {
			return access{}, fmt.Errorf("the Secret %s has no usable client certificate: %w", o.TLSSecret, err)
		}
	}
	if o.AuthSecret != "" {
		if a.login, err = etcd.NewLogin(secrets.Auth[v1beta2.AuthUsernameKey], secrets.Auth[v1beta2.AuthPasswordKey]); err != nil {
			a.problem = fmt.Sprintf("the Secret %s has no usable user: %v", o.AuthSecret, err)
		}
	}
	return a, nil
}
