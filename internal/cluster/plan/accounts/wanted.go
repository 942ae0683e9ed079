package accounts

import (
	"fmt"
	"maps"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// all is the key and the end of the range of all keys.
const all = "\x00"

// keyRange is what a permission is about. A role has one permission for each.
type keyRange struct{ key, end string }

// prefixed is the range of all keys with a prefix.
func prefixed(prefix string) keyRange {
	if prefix == "" {
		return keyRange{all, all}
	}
	return keyRange{prefix, string(etcd.EndOfPrefix(prefix))}
}

func rangeOf(p v1beta2.AuthPermission) keyRange {
	switch {
	case p.Prefix != nil:
		return prefixed(*p.Prefix)
	case p.Range != nil:
		return keyRange{p.Range.From, p.Range.To}
	}
	return keyRange{p.Key, ""}
}

// permissions returns those of a role in the spec. Two for the same keys are joined, because etcd has one for each range.
func permissions(role v1beta2.AuthRole) map[keyRange]etcd.Permission {
	wanted := map[keyRange]etcd.Permission{}
	for _, p := range role.Permissions {
		at := rangeOf(p)
		joined := wanted[at]
		joined.Key, joined.End = at.key, at.end
		joined.Read = joined.Read || p.Access != v1beta2.AccessWrite
		joined.Write = joined.Write || p.Access != v1beta2.AccessRead
		wanted[at] = joined
	}
	return wanted
}

func sorted(permissions map[keyRange]etcd.Permission) []etcd.Permission {
	return slices.SortedFunc(maps.Values(permissions), func(a, b etcd.Permission) int {
		return slices.Compare([]string{a.Key, a.End}, []string{b.Key, b.End})
	})
}

// Identity is the user that the operators are to etcd; empty if they have none, or if it is not known. byPassword: it authenticates with a password.
// If the Secret is missing, they use their certificate, but only until it comes.
func Identity(s state.State) (user string, byPassword bool) {
	if s.Spec.Auth.OperatorSecretName() != "" {
		return s.Authentication.User, true
	}
	return s.Accounts.CertificateUser, false
}

// operatorsUnknown: the Secret with the user of the operators cannot be read. Each user may be theirs, so none is changed.
func operatorsUnknown(s state.State) bool {
	identity, byPassword := Identity(s)
	return byPassword && identity == ""
}

// Problems say what of spec.auth cannot be done, and why. Each is a sentence.
func Problems(s state.State) []string {
	var problems []string
	have := map[string]bool{state.RootUser: true}
	for _, name := range s.Accounts.Present.Roles {
		have[name] = true
	}
	for _, role := range s.Spec.Auth.Roles {
		have[role.Name] = true
	}
	for _, user := range s.Spec.Auth.Users {
		if reserved(s, user.Name) {
			problems = append(problems, fmt.Sprintf("User %s of spec.auth.users is the user of the operators, so it is not changed: choose another name.", user.Name))
		}
		for _, role := range user.Roles {
			if !have[role] {
				problems = append(problems, fmt.Sprintf("User %s has role %s, which neither spec.auth.roles nor etcd has: add the role.", user.Name, role))
			}
		}
		if problem := s.Accounts.PasswordProblems[user.PasswordSecret]; problem != "" {
			problems = append(problems, fmt.Sprintf("The password of user %s is not known: %s", user.Name, problem))
		}
	}
	if operatorsUnknown(s) {
		return []string{"The user of the operators is not known, so users and roles are not changed: " + s.Authentication.Problem}
	}
	if identity, _ := Identity(s); wantsOn(s) && identity == "" {
		problems = append(problems, "The operators have no user in etcd, so authentication is not turned on: set spec.auth.operatorSecret, or use TLS for clients.")
	}
	return problems
}

func wantsOn(s state.State) bool { return s.Spec.Auth.Enabled != nil && *s.Spec.Auth.Enabled }

// reserved reports whether a user is one that the operators need.
func reserved(s state.State, user string) bool {
	identity, _ := Identity(s)
	return user == identity || user == state.RootUser
}

// grantable returns the roles of a user that etcd has.
func grantable(have map[string]bool, user v1beta2.AuthUser) []string {
	return slices.DeleteFunc(slices.Clone(user.Roles), func(role string) bool { return role != state.RootUser && !have[role] })
}
