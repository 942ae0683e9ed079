package state

import "github.com/etcd-suite/etcd-operator/internal/etcd"

// Accounts is what the operator knows of users and roles in etcd. It has no password.
type Accounts struct {
	// Known: Present was read in this incarnation, after the last change of the spec or of a user.
	Known   bool
	Present etcd.Accounts
	// Unread says why Present could not be read; empty if that is not so.
	Unread string
	// CertificateUser is the common name of the certificate with which the operator connects; empty without one.
	CertificateUser string
	// PasswordVersions are the resource versions of the Secrets with passwords, by the name of the Secret.
	PasswordVersions map[string]string
	// PasswordProblems say why a Secret has no password, by the name of the Secret.
	PasswordProblems map[string]string
}

// MayChangeAccounts reports whether users and roles of the cluster may be changed now. After the fence of a restore they would be lost, and the
// restored data has its own.
func MayChangeAccounts(s State) bool {
	return s.Spec.Auth.Manages() && s.Formed() && s.MembershipKnown && !s.Restoring() && !s.Forcing()
}

// UserSecret is the name of the Secret with the certificate of a user.
func UserSecret(s State, user string) string { return s.Name + "-" + user + "-tls" }

// UserCertificates are those of users of spec.auth. Due must be written, and Taken are the Secrets that another owner has.
type UserCertificates struct {
	Due   []UserCertificate
	Taken []string
}

// UserCertificate is a certificate of a user that must be written. Cause says why.
type UserCertificate struct{ User, Cause string }
