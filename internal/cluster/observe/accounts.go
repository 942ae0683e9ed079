package observe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	rules "github.com/etcd-suite/etcd-operator/internal/cluster/plan/accounts"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/secrets"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

const (
	// accountsTimeout bounds a reading of users and roles.
	accountsTimeout = 5 * time.Second
	// accountsAge is how long a reading is used. A change by hand is seen after that.
	accountsAge = 5 * time.Minute
	// accountsRetry is the pause after a reading that failed.
	accountsRetry = 10 * time.Second
)

// accounts reads the users and roles of etcd, and the Secrets with their passwords.
type accounts struct {
	secrets   *secrets.Secrets
	questions *members.Questions
}

// observe reads users and roles, and the versions of the passwords, if the spec has some.
func (a accounts) observe(ctx context.Context, v *view.View) error {
	if !state.MayChangeAccounts(v.State) {
		return nil
	}
	if !state.MayReadAccounts(v.State) {
		v.Accounts.Unread, v.Accounts.TooOld = tooOld, true
		return nil
	}
	v.Accounts.CertificateUser = commonName(v.TLS)
	if err := a.observePasswords(ctx, v); err != nil {
		return err
	}
	known := v.ReadAccounts
	fresh := !known.At.IsZero() && v.Now.Sub(known.At) < accountsAge && known.Generation == v.Cluster.Generation && known.Incarnation == v.Incarnation
	if !fresh && v.Now.Sub(known.FailedAt) >= accountsRetry {
		a.read(ctx, v)
		fresh = known.Failed == nil
	}
	switch {
	case fresh:
		v.Accounts.Known, v.Accounts.Present = true, known.Present
	case known.Failed != nil:
		v.Accounts.Unread, v.Accounts.TooOld = unreadAccounts(known.Failed)
	}
	return nil
}

func (a accounts) read(ctx context.Context, v *view.View) {
	ctx, cancel := context.WithTimeout(ctx, accountsTimeout)
	defer cancel()
	roles, users := namesOf(v.Spec.Auth)
	known := v.ReadAccounts
	*known = view.ReadAccounts{Generation: v.Cluster.Generation, Incarnation: v.Incarnation}
	known.Failed = a.questions.WithServing(ctx, v, "", func(member members.Etcd) error {
		present, err := member.Accounts(ctx, roles, users)
		known.Present = rules.Needed(v.State, present)
		return err
	})
	if known.Failed != nil {
		known.FailedAt = v.Now
		return
	}
	known.At = v.Now
}

func namesOf(policy *v1beta2.AuthPolicy) (roles, users []string) {
	for _, r := range policy.Roles {
		roles = append(roles, r.Name)
	}
	for _, u := range policy.Users {
		users = append(users, u.Name)
	}
	return roles, users
}

// tooOld is what the status says before etcd 3.5.
const tooOld = "spec.auth has users, roles or enabled. For these each member must run etcd 3.5 or later, or 3.6 if the operator did not add all members: upgrade the cluster, or remove them from the spec."

func unreadAccounts(err error) (text string, old bool) {
	if status.Code(errors.Unwrap(err)) == codes.Unimplemented || status.Code(err) == codes.Unimplemented {
		return tooOld, true
	}
	return planning.Sentence("The users and roles in etcd cannot be read: ", etcd.Cause(err)) + " The operator tries again.", false
}

// maxUnread is how many bytes the status quotes of an error about a password.
const maxUnread = 300

// observePasswords reads which Secrets have a password. One that cannot be read is reported, and the cluster does not wait for it.
func (a accounts) observePasswords(ctx context.Context, v *view.View) error {
	v.Accounts.PasswordVersions, v.Accounts.PasswordProblems = map[string]string{}, map[string]string{}
	for _, user := range v.Spec.Auth.Users {
		name := user.PasswordSecret
		if name == "" {
			continue
		}
		secret, err := a.secrets.Secret(ctx, v, name)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil {
			v.Accounts.PasswordProblems[name] = planning.Sentence("", planning.Quote(err.Error(), maxUnread))
			continue
		}
		if err := etcd.CheckPassword(etcd.Password(secret.Data[v1beta2.AuthPasswordKey])); err != nil {
			v.Accounts.PasswordProblems[name] = fmt.Sprintf("Key %s of Secret %s: %v.", v1beta2.AuthPasswordKey, name, err)
			continue
		}
		v.Accounts.PasswordVersions[name] = secret.ResourceVersion
	}
	return nil
}

// commonName returns that of the certificate of a client; empty without one.
func commonName(config *tls.Config) string {
	if config == nil || len(config.Certificates) == 0 || len(config.Certificates[0].Certificate) == 0 {
		return ""
	}
	leaf, err := x509.ParseCertificate(config.Certificates[0].Certificate[0])
	if err != nil {
		return ""
	}
	return leaf.Subject.CommonName
}
