package accounts

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Batch is changes that are made in one step. Those of one name are made in their order, and others side by side, unless InOrder.
type Batch struct {
	Changes []etcd.AccountChange
	InOrder bool
	// Announced are the versions of users that the status has before they are made; nothing is changed in etcd.
	Announced map[string]string
}

func (b Batch) empty() bool { return len(b.Changes) == 0 && len(b.Announced) == 0 }

// mostAtOnce is how many changes a step has at most. Each takes some milliseconds, and many are made side by side.
const mostAtOnce = 500

// Next returns the next changes; none if etcd has what the spec asks for, as far as that is possible. Clients may do what they are to do as
// early as possible, and are refused as late as possible: authentication is turned off first, and on last; what is missing is added before
// the rest is taken away.
func Next(s state.State) Batch {
	if !s.Accounts.Known {
		return Batch{}
	}
	on := s.Spec.Auth.Enabled
	if on != nil && !*on && s.Accounts.Present.Enabled {
		return Batch{Changes: []etcd.AccountChange{{Act: etcd.DisableAuth}}}
	}
	if operatorsUnknown(s) {
		return Batch{}
	}
	if versions := unannounced(s); len(versions) > 0 {
		return Batch{Announced: versions}
	}
	for _, stage := range []func(state.State) []etcd.AccountChange{widenRoles, widenUsers, narrow} {
		if changes := stage(s); len(changes) > 0 {
			return Batch{Changes: upToAName(changes, mostAtOnce)}
		}
	}
	if identity, _ := Identity(s); wantsOn(s) && !s.Accounts.Present.Enabled && identity != "" && len(Problems(s)) == 0 {
		return Batch{Changes: enable(s), InOrder: true}
	}
	return Batch{}
}

// upToAName returns the first changes, and all of each name: a user that is recreated is deleted and added in the same step.
func upToAName(changes []etcd.AccountChange, most int) []etcd.AccountChange {
	end := min(len(changes), most)
	for end < len(changes) && changes[end].Name == changes[end-1].Name {
		end++
	}
	return changes[:end]
}

// widenRoles adds roles and their permissions.
func widenRoles(s state.State) (changes []etcd.AccountChange) {
	for _, role := range s.Spec.Auth.Roles {
		if role.Name == state.RootUser {
			continue // etcd has it
		}
		if !slices.Contains(s.Accounts.Present.Roles, role.Name) {
			changes = append(changes, etcd.AccountChange{Act: etcd.AddRole, Name: role.Name})
		}
		for _, p := range sorted(permissions(role)) {
			if !slices.Contains(s.Accounts.Present.Permissions[role.Name], p) {
				changes = append(changes, etcd.AccountChange{Act: etcd.Permit, Name: role.Name, Permission: p})
			}
		}
	}
	return changes
}

// widenUsers adds users, and gives them roles and passwords.
func widenUsers(s state.State) (changes []etcd.AccountChange) {
	present, roles, versions := set(s.Accounts.Present.Users), set(s.Accounts.Present.Roles), recorded(s)
	for _, user := range s.Spec.Auth.Users {
		if !makeable(s, user) {
			continue
		}
		exists := present[user.Name]
		if exists && mustRecreate(s, versions, user) {
			changes = append(changes, etcd.AccountChange{Act: etcd.DeleteUser, Name: user.Name})
			exists = false
		}
		has := s.Accounts.Present.RolesOf[user.Name]
		switch {
		case !exists:
			has = nil
			changes = append(changes, etcd.AccountChange{Act: etcd.AddUser, Name: user.Name, PasswordSecret: user.PasswordSecret})
		case passwordDue(s, versions, user):
			changes = append(changes, etcd.AccountChange{Act: etcd.SetPassword, Name: user.Name, PasswordSecret: user.PasswordSecret})
		}
		for _, role := range grantable(roles, user) {
			if !slices.Contains(has, role) {
				changes = append(changes, etcd.AccountChange{Act: etcd.GrantRole, Name: user.Name, Role: role})
			}
		}
	}
	return changes
}

// narrow takes away what the spec does not have any more. Users and roles that were never in the spec are kept.
func narrow(s state.State) (changes []etcd.AccountChange) {
	for _, role := range s.Spec.Auth.Roles {
		wanted := permissions(role)
		for _, p := range s.Accounts.Present.Permissions[role.Name] {
			if _, is := wanted[keyRange{p.Key, p.End}]; !is {
				changes = append(changes, etcd.AccountChange{Act: etcd.Forbid, Name: role.Name, Permission: p})
			}
		}
	}
	for _, user := range s.Spec.Auth.Users {
		for _, role := range s.Accounts.Present.RolesOf[user.Name] {
			if !reserved(s, user.Name) && !slices.Contains(user.Roles, role) {
				changes = append(changes, etcd.AccountChange{Act: etcd.RevokeRole, Name: user.Name, Role: role})
			}
		}
		if len(changes) >= mostAtOnce { // a member may name thousands of roles of each user
			return changes[:mostAtOnce]
		}
	}
	if s.Spec.Auth.RemovalPolicy == v1beta2.AuthRemovalRetain {
		return changes
	}
	for _, name := range gone(ownUsers(s), s.Accounts.Present.Users, wantedUsers(s)) {
		if !reserved(s, name) {
			changes = append(changes, etcd.AccountChange{Act: etcd.DeleteUser, Name: name})
		}
	}
	for _, name := range gone(ownRoles(s), s.Accounts.Present.Roles, wantedRoles(s)) {
		changes = append(changes, etcd.AccountChange{Act: etcd.DeleteRole, Name: name})
	}
	return changes
}

// enable gives the operators a user with the role root, and turns authentication on. A password that was set by hand
// may differ from that of the Secret, and etcd checks none before authentication is on. So a user with a password is recreated.
func enable(s state.State) []etcd.AccountChange {
	identity, byPassword := Identity(s)
	var changes []etcd.AccountChange
	if byPassword {
		changes = append(changes,
			etcd.AccountChange{Act: etcd.DeleteUser, Name: identity},
			etcd.AccountChange{Act: etcd.AddUser, Name: identity, PasswordSecret: s.Spec.Auth.OperatorSecretName()})
	}
	for _, user := range slices.Compact([]string{identity, state.RootUser}) {
		if !slices.Contains(s.Accounts.Present.Users, user) && (user != identity || !byPassword) {
			changes = append(changes, etcd.AccountChange{Act: etcd.AddUser, Name: user})
		}
		changes = append(changes, etcd.AccountChange{Act: etcd.GrantRole, Name: user, Role: state.RootUser})
	}
	return append(changes, etcd.AccountChange{Act: etcd.EnableAuth})
}
