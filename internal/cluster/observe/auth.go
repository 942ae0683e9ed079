package observe

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// observeAuth reads the operator's user for etcd's authentication. Authentication may be off, so a wrong Secret is no reason
// to stop.
func (o *Observer) observeAuth(ctx context.Context, v *view.View) error {
	name := v.Spec.Auth.OperatorSecretName()
	if name == "" {
		return nil
	}
	data, err := o.Secrets.SecretData(ctx, v, name)
	if errors.Is(err, kube.ErrSecretMissing) {
		v.Authentication.Problem = planning.Sentence("The operator cannot read the Secret in spec.auth: ", err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	logins := &o.Memory.OfView(v).logins
	if err := logins.Use(data[v1beta2.AuthUsernameKey], data[v1beta2.AuthPasswordKey]); err != nil {
		v.Authentication.Problem = fmt.Sprintf("Secret %s needs the keys %s and %s: %v.", name, v1beta2.AuthUsernameKey, v1beta2.AuthPasswordKey, err)
		return nil
	}
	v.Logins, v.Authentication.User = logins, logins.User.User()
	return nil
}
