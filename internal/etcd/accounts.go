package etcd

import (
	"context"
	"slices"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"golang.org/x/sync/errgroup"

	"github.com/etcd-suite/etcd-operator/internal/panics"
)

// Accounts are users and roles of etcd, and whether authentication is on.
type Accounts struct {
	Enabled bool
	// Roles and Users are the names of all. etcd's own role root is among the roles only if it was added.
	Roles, Users []string
	// Permissions of the roles that were asked for, and RolesOf the users that were asked for, if they exist.
	Permissions map[string][]Permission
	RolesOf     map[string][]string
}

const (
	// maxNames limits the names of all users or all roles, in bytes. maxRole does so for the permissions of a role: 50 with the longest keys have 103 KiB.
	maxNames, maxRole = 512 << 10, 128 << 10
	// sideBySide is how many questions about users and roles are asked at the same time. Each is an entry of the log of raft, and
	// etcd writes many entries at once. rolesSideBySide is the same for roles, whose answers are longer.
	sideBySide, rolesSideBySide = 32, 16
)

// Accounts reads all names of users and roles, and what the named ones have. Each question is an entry of the log of raft, so it needs a quorum. If
// authentication is on, the client needs the role root. etcd 3.4 cannot be asked whether authentication is on: the error is then Unimplemented
// of gRPC. It is ErrManyAccounts if etcd has more than a few MiB of them.
func (c Auth) Accounts(ctx context.Context, roles, users []string) (Accounts, error) {
	status, err := c.client.AuthStatus(ctx)
	if err != nil {
		return Accounts{}, c.wrap("ask whether authentication is on", err)
	}
	read := Accounts{Enabled: status.Enabled, Permissions: map[string][]Permission{}, RolesOf: map[string][]string{}}
	var left accountsLeft
	left.bytes.Store(maxAccounts)
	haveRoles, err := c.accounts(ctx, &left, maxNames, pb.Auth_RoleList_FullMethodName, &pb.AuthRoleListRequest{})
	if err != nil {
		return Accounts{}, c.wrap("list roles", err)
	}
	haveUsers, err := c.accounts(ctx, &left, maxNames, pb.Auth_UserList_FullMethodName, &pb.AuthUserListRequest{})
	if err != nil {
		return Accounts{}, c.wrap("list users", err)
	}
	read.Roles, read.Users = haveRoles.names, haveUsers.names
	var lock sync.Mutex
	err = each(ctx, rolesSideBySide, both(roles, read.Roles), func(ctx context.Context, name string) error {
		role, err := c.accounts(ctx, &left, maxRole, pb.Auth_RoleGet_FullMethodName, &pb.AuthRoleGetRequest{Role: name})
		if err == nil {
			lock.Lock()
			defer lock.Unlock()
			read.Permissions[name] = role.permissions
		}
		return c.changed("read role "+name, err, rpctypes.ErrRoleNotFound)
	})
	if err != nil {
		return Accounts{}, err
	}
	err = each(ctx, sideBySide, both(users, read.Users), func(ctx context.Context, name string) error {
		user, err := c.accounts(ctx, &left, maxAnswer, pb.Auth_UserGet_FullMethodName, &pb.AuthUserGetRequest{Name: name})
		if err == nil {
			lock.Lock()
			defer lock.Unlock()
			read.RolesOf[name] = user.names
		}
		return c.changed("read user "+name, err, rpctypes.ErrUserNotFound)
	})
	if err != nil {
		return Accounts{}, err
	}
	return read, nil
}

// both returns the names that are in both lists.
func both(asked, have []string) []string {
	exists := make(map[string]bool, len(have))
	for _, name := range have {
		exists[name] = true
	}
	return slices.DeleteFunc(slices.Clone(asked), func(name string) bool { return !exists[name] })
}

// Each does something for several names side by side, and returns the first error. After an error it begins no other one.
func Each(ctx context.Context, names []string, do func(context.Context, string) error) error {
	return each(ctx, sideBySide, names, do)
}

func each(ctx context.Context, atOnce int, names []string, do func(context.Context, string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, name := range names {
		group.Go(panics.InGroup(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return do(ctx, name)
		}))
	}
	return group.Wait()
}
