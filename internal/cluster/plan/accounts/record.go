package accounts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

const (
	// mostOthers is how many users or roles of others the status names.
	mostOthers = 20
	// mostOfName is how many bytes of a name the status and messages have that etcd chose. A name of the spec has at most 128 characters.
	mostOfName = 256
	// mostRemoved is how many removed users or roles the status names.
	mostRemoved = 500
)

// pending is the version of a user that is about to get or lose a password. If the operator ends before it writes the status, it is known that the user
// may have one.
const pending = "pending"

// changing stands before the version of a user whose password is about to be changed.
const changing = "changing "

// versionOf names the present incarnation, and the password of a user. A restore brings users and passwords of the snapshot back, so that each user
// is recreated.
func versionOf(s state.State, secret string) string {
	if secret == "" {
		return incarnationPrefix(s)
	}
	return incarnationPrefix(s) + secret + "/" + s.Accounts.PasswordVersions[secret]
}

func incarnationPrefix(s state.State) string { return fmt.Sprintf("%d/", s.Incarnation) }

// hasPassword reports whether a user of that version has a password, or may have one.
func hasPassword(version string) bool { return !strings.HasSuffix(version, "/") }

// recorded returns the versions of users that the status has.
func recorded(s state.State) map[string]string {
	versions := make(map[string]string, len(s.AccountRecord.Users))
	for _, u := range s.AccountRecord.Users {
		versions[u.Name] = u.Version
	}
	return versions
}

// mustRecreate reports whether a user must be deleted and added: etcd never gives a user a password that was added without one, and never takes it. After a
// restore it is not known which the user was.
func mustRecreate(s state.State, versions map[string]string, user v1beta2.AuthUser) bool {
	was, known := versions[user.Name]
	version := strings.TrimPrefix(was, changing)
	return known && (hasPassword(version) != (user.PasswordSecret != "") || !strings.HasPrefix(version, incarnationPrefix(s)))
}

// unannounced returns the versions of the users that are to get, change or lose a password, or are to be recreated, and of which the status does
// not say so yet.
func unannounced(s state.State) map[string]string {
	versions, have := map[string]string{}, recorded(s)
	for _, user := range s.Spec.Auth.Users {
		was, known := have[user.Name]
		switch {
		case !makeable(s, user):
		case !known && (user.PasswordSecret != "" || returned(s, user.Name)), known && was != pending && mustRecreate(s, have, user):
			versions[user.Name] = pending
		case known && was != pending && passwordDue(s, have, user) && !strings.HasPrefix(was, changing):
			versions[user.Name] = changing + was
		}
	}
	return versions
}

// returned reports whether a restore has brought a user back that the operator had removed. It may have had a password.
func returned(s state.State, name string) bool {
	return slices.Contains(s.AccountRecord.RemovedUsers, name) && slices.Contains(s.Accounts.Present.Users, name)
}

// makeable reports whether a user may be made, and its password is known.
func makeable(s state.State, user v1beta2.AuthUser) bool {
	return !reserved(s, user.Name) && (user.PasswordSecret == "" || s.Accounts.PasswordVersions[user.PasswordSecret] != "")
}

// passwordDue reports whether the Secret has another password than the user was given.
func passwordDue(s state.State, versions map[string]string, user v1beta2.AuthUser) bool {
	return user.PasswordSecret != "" && versions[user.Name] != versionOf(s, user.PasswordSecret)
}

// gone returns the names that were the operator's, are in etcd, and are not wanted.
func gone(were, present []string, wanted map[string]bool) []string {
	own := set(were)
	return slices.DeleteFunc(slices.Clone(present), func(name string) bool { return wanted[name] || !own[name] })
}

// ownUsers are those that were in the spec. A restore brings those back that were removed since the snapshot.
func ownUsers(s state.State) (names []string) {
	for _, u := range s.AccountRecord.Users {
		names = append(names, u.Name)
	}
	if restored(s) {
		names = append(names, s.AccountRecord.RemovedUsers...)
	}
	return names
}

// ownRoles are those that were in the spec.
func ownRoles(s state.State) []string {
	if restored(s) {
		return slices.Concat(s.AccountRecord.Roles, s.AccountRecord.RemovedRoles)
	}
	return s.AccountRecord.Roles
}

// restored reports whether etcd may have users and roles of a snapshot. Until it has what the spec asks for, it is not known which a person added since.
func restored(s state.State) bool { return s.AccountRecord.Incarnation != s.Incarnation }

func wantedUsers(s state.State) map[string]bool {
	names := map[string]bool{}
	for _, u := range s.Spec.Auth.Users {
		names[u.Name] = true
	}
	return names
}

func wantedRoles(s state.State) map[string]bool {
	names := map[string]bool{}
	for _, r := range s.Spec.Auth.Roles {
		names[r.Name] = true
	}
	return names
}

// doubt has all users recreated, and those removed again that were removed before. A survivor of a lost quorum may lack the last changes.
func doubt(record *v1beta2.AuthStatus) {
	record.Incarnation = 0
	for i := range record.Users {
		record.Users[i].Version = pending
	}
}

// after is what etcd has after the changes of a step.
type after struct {
	v1beta2.AuthStatus
	users, roles map[string]bool
	versions     map[string]string
}

func (is *after) nameUsers(s state.State) {
	wanted, own := wantedUsers(s), removable(s, ownUsers(s))
	for _, u := range s.AccountRecord.Users { // the status may have missed the removal
		if !is.users[u.Name] && !wanted[u.Name] && own[u.Name] {
			is.RemovedUsers = remember(is.RemovedUsers, u.Name)
		}
	}
	for name, version := range is.versions {
		if version == pending && wanted[name] {
			is.users[name] = true
		}
	}
	announced := unannounced(s)
	for _, name := range slices.Sorted(maps.Keys(is.users)) {
		version := is.versions[name]
		switch {
		case reserved(s, name):
		case wanted[name] && version == "" && announced[name] != "": // it is announced first
		case wanted[name], own[name]:
			is.Users = append(is.Users, v1beta2.AuthUserStatus{Name: name, Version: cmp.Or(version, incarnationPrefix(s))})
		case len(is.OtherUsers) < mostOthers:
			is.OtherUsers = append(is.OtherUsers, planning.Shorten(name, mostOfName))
		}
	}
	made := map[string]bool{}
	for _, u := range is.Users {
		made[u.Name] = true
	}
	is.RemovedUsers = without(is.RemovedUsers, made)
}

func (is *after) nameRoles(s state.State) {
	wanted, own := wantedRoles(s), removable(s, ownRoles(s))
	for _, name := range s.AccountRecord.Roles {
		if !is.roles[name] && !wanted[name] && own[name] {
			is.RemovedRoles = remember(is.RemovedRoles, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is.roles)) {
		switch {
		case wanted[name], own[name]:
			is.Roles = append(is.Roles, name)
		case name != state.RootUser && len(is.OtherRoles) < mostOthers:
			is.OtherRoles = append(is.OtherRoles, planning.Shorten(name, mostOfName))
		}
	}
	is.RemovedRoles = without(is.RemovedRoles, wanted)
}

// removable are the names that the operator removes if they leave the spec. What is retained belongs to a person from then on, also if the policy
// changes later.
func removable(s state.State, own []string) map[string]bool {
	if s.Spec.Auth.RemovalPolicy == v1beta2.AuthRemovalRetain {
		return nil
	}
	return set(own)
}

func set(names []string) map[string]bool {
	is := make(map[string]bool, len(names))
	for _, name := range names {
		is[name] = true
	}
	return is
}

// made notes what a change has made of users, roles and passwords.
func (is *after) made(s state.State, c etcd.AccountChange) {
	switch c.Act {
	case etcd.AddUser:
		is.users[c.Name], is.versions[c.Name] = true, versionOf(s, c.PasswordSecret)
	case etcd.SetPassword:
		is.versions[c.Name] = versionOf(s, c.PasswordSecret)
	case etcd.DeleteUser:
		delete(is.users, c.Name)
		delete(is.versions, c.Name)
		is.RemovedUsers = remember(is.RemovedUsers, c.Name)
	case etcd.AddRole:
		is.roles[c.Name] = true
	case etcd.DeleteRole:
		delete(is.roles, c.Name)
		is.RemovedRoles = remember(is.RemovedRoles, c.Name)
	}
}

// remember adds a name to those that were removed last.
func remember(names []string, name string) []string {
	names = append(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name }), name)
	return names[max(0, len(names)-mostRemoved):]
}

func without(names []string, wanted map[string]bool) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return wanted[name] })
}
