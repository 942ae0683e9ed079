package restore

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/tlssecret"
)

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
