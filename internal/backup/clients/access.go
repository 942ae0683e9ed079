package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Access reads the Secrets for the members.
func (t *Clients) Access(ctx context.Context, o state.JobSpec) (a ask.Access, err error) {
	if a.TLS, err = t.tls(ctx, o); err != nil || o.AuthSecret == "" {
		return a, err
	}
	a.Login, err = t.login(ctx, o)
	if err != nil && o.MayLackUser && lacksSecret(err) {
		a.Problem, err = err.Error(), nil // authentication may be off
	}
	return a, err
}

// lacksSecret reports whether a Secret is missing or wrong.
func lacksSecret(err error) bool {
	var known *failure.Error
	return errors.Is(err, kube.ErrSecretMissing) || (errors.As(err, &known) && known.Reason == v1beta2.ReasonSecretMissing)
}

// ExplainAccess adds the problem to the error if etcd refused the operator for lack of a user.
func ExplainAccess(a ask.Access, err error) error {
	var known *failure.Error
	if a.Problem == "" || !errors.As(err, &known) || known.Reason != v1beta2.ReasonEtcdAccessDenied {
		return err
	}
	return failure.New(known.Reason, planning.Sentence("", a.Problem)+" "+known.Message)
}

func (t *Clients) login(ctx context.Context, o state.JobSpec) (*etcd.Login, error) {
	data, err := t.Secret(ctx, o.Namespace, o.AuthSecret, v1beta2.AuthUsernameKey, v1beta2.AuthPasswordKey, authEndpointsKey)
	if err != nil {
		return nil, err
	}
	login, err := etcd.NewLogin(data[v1beta2.AuthUsernameKey], data[v1beta2.AuthPasswordKey])
	if err != nil {
		return nil, failure.New(v1beta2.ReasonSecretMissing, fmt.Sprintf("Secret %s needs the keys %s and %s: %v. Correct the Secret.",
			o.AuthSecret, v1beta2.AuthUsernameKey, v1beta2.AuthPasswordKey, err))
	}
	if url := notAllowed(o, string(data[authEndpointsKey])); url != "" {
		return nil, failure.New(v1beta2.ReasonSecretMissing, fmt.Sprintf("The operator does not send the password in Secret %s to %s, because the server "+
			"there could read it. Use https:// and a CA in clientTLSSecret, or write the key %s with this URL into the Secret.",
			o.AuthSecret, url, authEndpointsKey))
	}
	return login, nil
}

// authEndpointsKey is the key of a Secret with the endpoints to which its password may be sent, without TLS too.
const authEndpointsKey = "endpoints"

// notAllowed returns an endpoint to which the password must not be sent; empty if there is none. An endpoint of the spec must have a
// certificate of the CA in a Secret, or the owner of the password names it. The endpoints of an EtcdCluster are those of its members.
func notAllowed(o state.JobSpec, named string) string {
	if o.MayLackUser {
		return ""
	}
	allowed := strings.FieldsFunc(named, func(c rune) bool { return c == ',' || unicode.IsSpace(c) })
	for _, url := range o.URLs {
		overTLS := o.TLSSecret != "" && strings.HasPrefix(strings.ToLower(url), "https://")
		if !overTLS && !slices.ContainsFunc(allowed, func(by string) bool { return strings.TrimRight(by, "/") == strings.TrimRight(url, "/") }) {
			return url
		}
	}
	return ""
}
