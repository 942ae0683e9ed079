package accounts

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// mostUnwanted is how many bytes of what is to be taken away are kept of one reading. The next one has the rest.
const mostUnwanted = 64 << 10

// Needed returns what the plan and the status need of users and roles that were read. The operator keeps it for minutes, and a member decides how much it answers:
// all that is read for a hundred clusters of a tenant is as much memory as the operator has.
func Needed(s state.State, read etcd.Accounts) etcd.Accounts {
	needed := etcd.Accounts{
		Enabled: read.Enabled, Users: someOf(read.Users, namedUsers(s)), Roles: someOf(read.Roles, namedRoles(s)),
		Permissions: make(map[string][]etcd.Permission, len(read.Permissions)), RolesOf: make(map[string][]string, len(read.RolesOf)),
	}
	left := mostUnwanted
	for _, role := range s.Spec.Auth.Roles {
		wanted := permissions(role)
		is := func(p etcd.Permission) bool { _, is := wanted[keyRange{p.Key, p.End}]; return is }
		needed.Permissions[role.Name] = upTo(&left, read.Permissions[role.Name], is, func(p etcd.Permission) int { return len(p.Key) + len(p.End) })
	}
	for _, user := range s.Spec.Auth.Users {
		wanted := set(user.Roles)
		needed.RolesOf[user.Name] = upTo(&left, read.RolesOf[user.Name], func(role string) bool { return wanted[role] }, func(role string) int { return len(role) })
	}
	return needed
}

// namedUsers are those that the spec or the status names, and those that the operators need.
func namedUsers(s state.State) map[string]bool {
	names := wantedUsers(s)
	for _, u := range s.AccountRecord.Users {
		names[u.Name] = true
	}
	identity, _ := Identity(s)
	for _, name := range append([]string{identity, state.RootUser}, s.AccountRecord.RemovedUsers...) {
		names[name] = true
	}
	return names
}

// namedRoles are those that the spec or the status names, and that of the operators.
func namedRoles(s state.State) map[string]bool {
	names := wantedRoles(s)
	for _, u := range s.Spec.Auth.Users {
		for _, role := range u.Roles {
			names[role] = true
		}
	}
	for _, name := range slices.Concat([]string{state.RootUser}, s.AccountRecord.Roles, s.AccountRecord.RemovedRoles) {
		names[name] = true
	}
	return names
}

// someOf returns the named ones, and as many of the others as the status names.
func someOf(all []string, named map[string]bool) (kept []string) {
	var others []string
	seen := make(map[string]bool, len(all))
	for _, name := range all {
		switch {
		case seen[name]:
		case named[name]:
			kept = append(kept, name)
		default:
			others = append(others, name)
		}
		seen[name] = true
	}
	slices.Sort(others)
	for _, name := range others[:min(len(others), mostOthers)] {
		kept = append(kept, planning.Shorten(name, mostOfName))
	}
	return kept
}

// upTo returns what is wanted, and of the others as many as have room in left, but at least one. Each is returned once.
func upTo[T comparable](left *int, all []T, wanted func(T) bool, size func(T) int) (kept []T) {
	seen := make(map[T]bool, len(all))
	for _, one := range all {
		keeps := wanted(one)
		if seen[one] || !keeps && *left <= 0 {
			continue
		}
		seen[one] = true
		if kept = append(kept, one); !keeps {
			*left -= size(one) + entry
		}
	}
	return kept
}

// entry is what a name or a permission takes beside its text.
const entry = 64
