package state

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// MayChangeAccounts reports whether users and roles of the cluster may be changed now. After the fence of a restore they would be lost, and the
// restored data has its own. Before the switch and while the restored cluster grows, which may take days, they are those of the cluster that serves.
func MayChangeAccounts(s State) bool {
	return s.Spec.Auth.Manages() && s.Formed() && s.MembershipKnown && !s.Switching() && !s.Forcing()
}

// UserSecret is the name of the Secret with the certificate of a user.
func UserSecret(s State, user string) string { return v1beta2.UserSecret(s.Name, user) }

// AccountsFrom is the first version of etcd that knows all questions about users and roles. Each question is an entry of the log of raft. A member of
// etcd 3.4 ends when it applies an entry that it does not know, again after each restart, and does not know the passwords that etcd 3.5 writes.
const AccountsFrom = "3.5.0"

// MayReadAccounts reports whether each member of the cluster runs an etcd that knows the questions about users and roles. A member that does not
// answer may be older, and so may a foreign one unless the data is of a version that etcd lets no older member join.
func MayReadAccounts(s State) bool {
	lowest, _ := Versions(s)
	if lowest == "" || Older(lowest, AccountsFrom) || slices.ContainsFunc(s.Current(), func(m Member) bool { return mayBeBefore(m, AccountsFrom) }) {
		return false
	}
	return len(s.ForeignMembers) == 0 || !slices.ContainsFunc(s.Current(), func(m Member) bool {
		return m.InMembership && (m.StorageVersion == "" || etcdversion.Older(m.StorageVersion, AccountsFrom))
	})
}

// WhyRefused says who is refused, and why.
func WhyRefused(s State, refusal etcd.Refusal) string {
	const on = "Authentication is on in etcd, and it refuses the operator: "
	switch {
	case s.Authentication.Problem != "":
		return on + s.Authentication.Problem
	case refusal == etcd.RefusedPassword:
		return on + fmt.Sprintf("user %s does not exist, or the password in Secret %s is wrong.", s.Authentication.User, s.Spec.Auth.OperatorSecretName())
	case refusal == etcd.RefusedRole:
		return on + operatorUser(s) + " does not have the role root."
	case s.Authentication.User != "":
		return on + operatorUser(s) + " is not accepted."
	}
	return on + "it has no user."
}

// HowToPermit says what a person has to do.
func HowToPermit(s State, refusal etcd.Refusal) string {
	secret := s.Spec.Auth.OperatorSecretName()
	switch {
	case s.Authentication.Problem != "", refusal == etcd.RefusedPassword:
		return "Correct Secret " + secret + "."
	case refusal == etcd.RefusedRole && s.Authentication.User != "":
		return fmt.Sprintf("Give that user the role root (etcdctl user grant-role %s root).", s.Authentication.User)
	case secret == "" && s.Spec.TLS.SecureClient():
		return "Give that user the role root. Or set spec.auth.operatorSecret to a Secret with the keys username and password of a user with the role root."
	case secret == "":
		return "Set spec.auth.operatorSecret to a Secret with the keys username and password of a user with the role root."
	}
	return "Correct Secret " + secret + ", or turn authentication off (etcdctl auth disable)."
}

func operatorUser(s State) string {
	switch {
	case s.Authentication.User != "":
		return fmt.Sprintf("user %s of Secret %s", s.Authentication.User, s.Spec.Auth.OperatorSecretName())
	case s.Spec.TLS.SecureClient():
		return "the user with the common name of the certificate in Secret " + s.Spec.TLS.OperatorSecret(s.Name)
	}
	return "its user"
}
