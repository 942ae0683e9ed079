package state

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
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
