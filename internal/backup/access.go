package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/kube"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// access reads the Secrets for the members.
func (t *job) access(ctx context.Context, o jobSpec) (a ask.Access, err error) {
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
	var known *failedError
	return errors.Is(err, kube.ErrSecretMissing) || (errors.As(err, &known) && known.Reason == v1beta2.ReasonSecretMissing)
}

// explainAccess adds the problem to the error if etcd refused the operator for lack of a user.
func explainAccess(a ask.Access, err error) error {
	var known *failedError
	if a.Problem == "" || !errors.As(err, &known) || known.Reason != v1beta2.ReasonEtcdAccessDenied {
		return err
	}
	return fail(known.Reason, planning.Sentence("", a.Problem)+" "+known.Message)
}

func (t *job) login(ctx context.Context, o jobSpec) (*etcd.Login, error) {
	data, err := t.secret(ctx, o.Namespace, o.AuthSecret)
	if err != nil {
		return nil, err
	}
	login, err := etcd.NewLogin(data[v1beta2.AuthUsernameKey], data[v1beta2.AuthPasswordKey])
	if err != nil {
		return nil, fail(v1beta2.ReasonSecretMissing, fmt.Sprintf("Secret %s needs the keys %s and %s: %v. Correct the Secret.",
			o.AuthSecret, v1beta2.AuthUsernameKey, v1beta2.AuthPasswordKey, err))
	}
	if url := notAllowed(o, string(data[authEndpointsKey])); url != "" {
		return nil, fail(v1beta2.ReasonSecretMissing, fmt.Sprintf("The operator does not send the password in Secret %s to %s, because the server "+
			"there could read it. Use https:// and a CA in clientTLSSecret, or write the key %s with this URL into the Secret.",
			o.AuthSecret, url, authEndpointsKey))
	}
	return login, nil
}

// authEndpointsKey is the key of a Secret with the endpoints to which its password may be sent, without TLS too.
const authEndpointsKey = "endpoints"

// notAllowed returns an endpoint to which the password must not be sent; empty if there is none. An endpoint of the spec must have a
// certificate of the CA in a Secret, or the owner of the password names it. The endpoints of an EtcdCluster are those of its members.
func notAllowed(o jobSpec, named string) string {
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

// refused returns an error if etcd's authentication is why no member can be used.
func refused(answers []ask.Answer) error {
	var why []string
	var refusal etcd.Refusal
	for _, a := range answers {
		if a.Err == nil && a.NotServing == nil {
			return nil
		}
		for _, err := range []error{a.Err, a.NotServing} {
			if found := etcd.RefusalOf(err); found != etcd.NotRefused {
				refusal = found
				why = append(why, err.Error())
			}
		}
	}
	if refusal == etcd.NotRefused {
		return nil
	}
	return fail(v1beta2.ReasonEtcdAccessDenied, "Authentication is on in etcd, and it refuses the operator: "+strings.Join(why, "; ")+". "+howToPermit(refusal))
}

// howToPermit says what a person has to do after a refusal.
func howToPermit(refusal etcd.Refusal) string {
	const secret = "clientAuthSecret (with etcdCluster: spec.auth.operatorSecret of the EtcdCluster)"
	switch refusal {
	case etcd.RefusedPassword:
		return "Correct the user name and the password in the Secret that " + secret + " names."
	case etcd.RefusedRole:
		return "Give the user the role root in etcd (etcdctl user grant-role <user> root)."
	}
	return "Set " + secret + " to a Secret with the keys username and password of a user with the role root."
}
