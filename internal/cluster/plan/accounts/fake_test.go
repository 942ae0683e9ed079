package accounts

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// fakeEtcd has users and roles as etcd has them.
type fakeEtcd struct {
	on    bool
	roles map[string][]etcd.Permission
	users map[string]*fakeUser
}

type fakeUser struct {
	roles      []string
	noPassword bool
	password   string
}

func newFake() *fakeEtcd {
	return &fakeEtcd{roles: map[string][]etcd.Permission{}, users: map[string]*fakeUser{}}
}

// do makes a change as etcd does. passwords are what the Secrets have now.
func (f *fakeEtcd) do(c etcd.AccountChange, passwords map[string]string) error {
	user, role := f.users[c.Name], f.roles[c.Name]
	switch c.Act {
	case etcd.AddRole:
		if _, is := f.roles[c.Name]; !is {
			f.roles[c.Name] = nil
		}
	case etcd.DeleteRole:
		delete(f.roles, c.Name)
		for _, u := range f.users {
			u.roles = slices.DeleteFunc(u.roles, func(r string) bool { return r == c.Name })
		}
	case etcd.Permit, etcd.Forbid:
		if _, is := f.roles[c.Name]; !is {
			return fmt.Errorf("there is no role %s", c.Name)
		}
		role = slices.DeleteFunc(role, func(p etcd.Permission) bool { return p.Key == c.Permission.Key && p.End == c.Permission.End })
		if c.Act == etcd.Permit {
			role = append(role, c.Permission)
		}
		f.roles[c.Name] = role
	case etcd.AddUser:
		if user == nil {
			f.users[c.Name] = &fakeUser{noPassword: c.PasswordSecret == "", password: passwords[c.PasswordSecret]}
		}
	case etcd.DeleteUser:
		delete(f.users, c.Name)
	default:
		return f.change(c, user, passwords)
	}
	return nil
}

func (f *fakeEtcd) change(c etcd.AccountChange, user *fakeUser, passwords map[string]string) error {
	switch c.Act {
	case etcd.EnableAuth:
		if root := f.users[state.RootUser]; root == nil || !slices.Contains(root.roles, state.RootUser) {
			return fmt.Errorf("there is no user root with the role root")
		}
		f.on = true
		return nil
	case etcd.DisableAuth:
		f.on = false
		return nil
	}
	if user == nil {
		return fmt.Errorf("%s: there is no user %s", c.Act, c.Name)
	}
	switch c.Act {
	case etcd.SetPassword:
		if !user.noPassword {
			user.password = passwords[c.PasswordSecret]
		}
	case etcd.GrantRole:
		if _, is := f.roles[c.Role]; !is && c.Role != state.RootUser {
			return fmt.Errorf("there is no role %s", c.Role)
		}
		if !slices.Contains(user.roles, c.Role) {
			user.roles = append(user.roles, c.Role)
		}
	case etcd.RevokeRole:
		user.roles = slices.DeleteFunc(user.roles, func(r string) bool { return r == c.Role })
	}
	return nil
}

// read returns what the operator reads for a spec.
func (f *fakeEtcd) read(policy *v1beta2.AuthPolicy) etcd.Accounts {
	read := etcd.Accounts{Enabled: f.on, Permissions: map[string][]etcd.Permission{}, RolesOf: map[string][]string{}}
	for name, permissions := range f.roles {
		read.Roles = append(read.Roles, name)
		if slices.ContainsFunc(policy.Roles, func(r v1beta2.AuthRole) bool { return r.Name == name }) {
			read.Permissions[name] = slices.Clone(permissions)
		}
	}
	for name, u := range f.users {
		read.Users = append(read.Users, name)
		if slices.ContainsFunc(policy.Users, func(u v1beta2.AuthUser) bool { return u.Name == name }) {
			read.RolesOf[name] = slices.Clone(u.roles)
		}
	}
	slices.Sort(read.Roles)
	slices.Sort(read.Users)
	return read
}

func (f *fakeEtcd) clone() *fakeEtcd {
	c := newFake()
	c.on = f.on
	for name, p := range f.roles {
		c.roles[name] = slices.Clone(p)
	}
	for name, u := range f.users {
		c.users[name] = &fakeUser{slices.Clone(u.roles), u.noPassword, u.password}
	}
	return c
}

// managed is the State of a cluster whose users and roles may be changed.
func managed(policy v1beta2.AuthPolicy) state.State {
	s := state.State{Name: "c", ClusterID: "1", Incarnation: 1, MembershipKnown: true, Spec: v1beta2.EtcdClusterSpec{Size: 3, Auth: &policy}}
	s.Accounts = state.Accounts{Known: true, CertificateUser: state.RootUser, PasswordVersions: map[string]string{}, PasswordProblems: map[string]string{}}
	return s
}

func prefixPermission(prefix, access string) v1beta2.AuthPermission {
	return v1beta2.AuthPermission{Prefix: ptr.To(prefix), Access: access}
}
