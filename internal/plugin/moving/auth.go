package moving

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// auth returns spec.auth of the new EtcdCluster. The standby has the users and roles of the source in its data, but the certificates of users are issued, and later changes are
// made, only for those in the spec. operators is the Secret of a user of the operators, if they need one.
func (r Request) auth(operators string) *v1beta2.AuthPolicy {
	var policy *v1beta2.AuthPolicy
	if r.From != nil {
		policy = r.From.Spec.Auth.DeepCopy()
	}
	if policy == nil {
		if operators == "" {
			return nil
		}
		policy = &v1beta2.AuthPolicy{}
	}
	policy.OperatorSecret = operators
	if r.PlainText { // without TLS there are no certificates
		for i := range policy.Users {
			policy.Users[i].Certificate = nil
		}
	}
	return policy
}

// oldUsers are the users in the spec of the EtcdCluster that is moved; there are none without one.
type oldUsers struct{ from *v1beta2.EtcdCluster }

// passwords returns the Secrets with the passwords of users of the source. The new EtcdCluster reads those of its own namespace.
func (u oldUsers) passwords() (names []string) {
	if u.from == nil || u.from.Spec.Auth == nil {
		return nil
	}
	for _, user := range u.from.Spec.Auth.Users {
		if user.PasswordSecret != "" && !slices.Contains(names, user.PasswordSecret) {
			names = append(names, user.PasswordSecret)
		}
	}
	return names
}

// clientUser returns the common name of the certificate of clients, which is their user if authentication is on. It is empty for the default.
func (u oldUsers) clientUser() string {
	if u.from == nil {
		return ""
	}
	return u.from.Spec.TLS.ClientCommonName()
}

// defaultClient is the user of the certificate of clients if the spec names no other one.
const defaultClient = "client"

// ClientUser returns the user of the certificate of clients that the operators issue.
func ClientUser(c v1beta2.EtcdCluster) string {
	return cmp.Or(c.Spec.TLS.ClientCommonName(), defaultClient)
}

// AuthenticationOn reports whether the source is known to have authentication on, by what its EtcdCluster says.
func (r Request) AuthenticationOn() bool {
	if r.From == nil {
		return false
	}
	enabled := r.From.Spec.Auth != nil && r.From.Spec.Auth.Enabled != nil && *r.From.Spec.Auth.Enabled
	return enabled || r.From.Status.Auth != nil && r.From.Status.Auth.Enabled
}

// LockedOut returns who could not authenticate to the new cluster, if authentication is on in the source; empty if all can. The new cluster has the users of the source, and only
// TLS has certificates. The operators could not manage a cluster that refuses them, and there is no way back from it.
func (r Request) LockedOut() string {
	if !r.PlainText {
		return ""
	}
	const advice = "Leave --no-tls out"
	if !r.authenticated() {
		return "Authentication is on in the source. Without TLS, the operators have no certificate, and etcd would refuse them in the new cluster. " + advice +
			", or name a Secret with a user that has the role root and a password: in spec.auth.operatorSecret of an EtcdCluster, or with --client-auth-secret"
	}
	if names := (oldUsers{r.From}).certified(); len(names) > 0 {
		return fmt.Sprintf("Authentication is on in the source, and %s have no password. Without TLS, they have no certificate, and etcd would refuse them in the new cluster. %s, or give them a passwordSecret first",
			strings.Join(names, ", "), advice)
	}
	return ""
}

// mostNamed is how many users a message names.
const mostNamed = 5

// certified are the users of the spec that authenticate only by a certificate.
func (u oldUsers) certified() (names []string) {
	if u.from == nil || u.from.Spec.Auth == nil {
		return nil
	}
	for _, user := range u.from.Spec.Auth.Users {
		if user.PasswordSecret == "" && len(names) < mostNamed {
			names = append(names, user.Name)
		}
	}
	return names
}

// UserSecrets are the Secrets with users and passwords that the new EtcdCluster reads in its namespace. Who may write the old EtcdCluster has chosen their names, so in another
// namespace each must have the same content as in that of the source.
func (r Request) UserSecrets(b v1beta2.EtcdBackup) (names []string) {
	if b.Namespace == r.Namespace {
		return nil
	}
	if r.authenticated() {
		names = append(names, r.userSecret(b))
	}
	return append(names, oldUsers{r.From}.passwords()...)
}

// AnnotationAuth holds, on the EtcdRestore of a migration, the digest of spec.auth that the new EtcdCluster was given. By it, the hand-over sees that the source has changed since.
const AnnotationAuth = v1beta2.Group + "/moves-auth"

// Users are those of the new EtcdCluster before the hand-over.
type Users struct {
	// Auth is spec.auth that the new EtcdCluster would be given now, and Digest is its digest.
	Auth   *v1beta2.AuthPolicy
	Digest string
	// Outdated: the source has changed since the new EtcdCluster was given its spec.auth. Edited: that has changed, too, so a person must join both.
	Outdated, Edited bool
}

// UsersOf compares spec.auth of both EtcdClusters. A standby may follow its source for weeks, and after the hand-over cluster-operator makes etcd as the spec of the new one says:
// a user that was removed from the source would come back.
func (r Request) UsersOf(o Objects) Users {
	if r.From == nil || o.Restore == nil || o.Cluster == nil || o.Restore.Annotations[AnnotationAuth] == "" {
		return Users{}
	}
	r.PlainText = !o.Cluster.Spec.TLS.SecureClient()
	given, has := o.Restore.Annotations[AnnotationAuth], digestOf(o.Cluster.Spec.Auth)
	users := Users{Auth: r.auth(r.From.Spec.Auth.OperatorSecretName())}
	users.Digest = digestOf(users.Auth)
	users.Outdated = users.Digest != given && users.Digest != has
	users.Edited = users.Outdated && has != given
	return users
}

// digestOf returns a short digest of users and roles.
func digestOf(policy *v1beta2.AuthPolicy) string {
	text, err := json.Marshal(policy)
	if err != nil { // of these types there is none
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))[:16]
}
