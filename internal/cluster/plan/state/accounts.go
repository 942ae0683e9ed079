package state

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// Accounts is what the operator knows of users and roles in etcd. It has no password.
type Accounts struct {
	// Known: Present was read in this incarnation, after the last change of the spec or of a user.
	Known   bool
	Present etcd.Accounts
	// Unread says why Present could not be read; empty if that is not so.
	Unread string
	// TooOld: a member does not know users and roles as etcd 3.5 does, so a person must act. Other failures may pass.
	TooOld bool
	// CertificateUser is the common name of the certificate with which the operator connects; empty without one.
	CertificateUser string
	// PasswordVersions are the resource versions of the Secrets with passwords, by the name of the Secret.
	PasswordVersions map[string]string
	// PasswordProblems say why a Secret has no password, by the name of the Secret.
	PasswordProblems map[string]string
}

// MayChangeAccounts reports whether users and roles of the cluster may be changed now. After the fence of a restore they would be lost, and the
// restored data has its own. Before the switch and while the restored cluster grows, which may take days, they are those of the cluster that serves.
func MayChangeAccounts(s State) bool {
	return s.Spec.Auth.Manages() && s.Formed() && s.MembershipKnown && !s.Switching() && !s.Forcing()
}

// UserSecret is the name of the Secret with the certificate of a user.
func UserSecret(s State, user string) string { return v1beta2.UserSecret(s.Name, user) }

// UserCertificates are those of users of spec.auth. Due must be written, and Outdated when all members trust the CA that signed the next one. Taken are
// the Secrets and Certificates that another owner has. Unread says of Secrets why they could not be read.
type UserCertificates struct {
	Due, Outdated []UserCertificate
	Taken, Unread []string
	// Requests are the users whose Certificate of cert-manager is missing or differs from the spec. Left are those that left the spec and still have
	// one, and Gone those that have none any more. Unissued says why cert-manager has issued no certificate that can be used.
	Requests, Left, Gone, Unissued []string
	// Urgent: the clocks differ, and one of Due cannot wait until they agree.
	Urgent bool
}

// UserCertificate is a certificate of a user that must be written. Cause says why.
type UserCertificate struct{ User, Cause string }

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
