package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/authpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// AccountAct is what an AccountChange does.
type AccountAct string

// The acts. Each of them, done twice, is done once.
const (
	AddRole    AccountAct = "add role"
	DeleteRole AccountAct = "delete role" // takes it from all users, too
	Permit     AccountAct = "permit"      // replaces a permission for the same keys
	Forbid     AccountAct = "forbid"
	// AddUser adds a user without roles. Without a password, it authenticates only by the common name of a certificate.
	AddUser    AccountAct = "add user"
	DeleteUser AccountAct = "delete user"
	// SetPassword is for a user that was added with a password. etcd ignores it for others.
	SetPassword AccountAct = "set password"
	GrantRole   AccountAct = "grant role"
	RevokeRole  AccountAct = "revoke role"
	// EnableAuth needs a user root with the role root.
	EnableAuth  AccountAct = "enable"
	DisableAuth AccountAct = "disable"
)

// AccountChange is one change of users, roles or authentication. It has no password, so that it can be shown.
type AccountChange struct {
	Act AccountAct
	// Name of the user or the role; empty to turn authentication on or off.
	Name string
	// Role that a user gets or loses.
	Role string
	// Permission that a role gets or loses.
	Permission Permission
	// PasswordSecret is the Secret with the password that a user gets; empty for none.
	PasswordSecret string
}

// LongestPassword is how many bytes a password may have. bcrypt takes no more, and etcd refuses a longer one.
const LongestPassword = 72

// CheckPassword returns why etcd does not take a password for a user.
func CheckPassword(password string) error {
	switch {
	case password == "":
		return errors.New("there is no password")
	case len(password) > LongestPassword:
		return fmt.Errorf("the password has %d bytes, and etcd takes %d", len(password), LongestPassword)
	}
	return nil
}

var accesses = map[Permission]clientv3.PermissionType{
	{Read: true}:              clientv3.PermissionType(authpb.READ),
	{Write: true}:             clientv3.PermissionType(authpb.WRITE),
	{Read: true, Write: true}: clientv3.PermissionType(authpb.READWRITE),
}

// ChangeAccount changes users, roles or authentication. It is no error if that was done before. password is for AddUser and SetPassword. If
// authentication is on, the client needs the role root. It needs a quorum.
func (c Auth) ChangeAccount(ctx context.Context, change AccountChange, password string) error {
	err, done := c.changeAccount(ctx, change, password)
	if done != nil && errors.Is(err, done) {
		return nil
	}
	return c.wrap(fmt.Sprintf("%s %s", change.Act, change.Name), err)
}

// changeAccount returns the answer of etcd, and the error that means that the change was made before.
func (c Auth) changeAccount(ctx context.Context, change AccountChange, password string) (err, done error) {
	p := change.Permission
	switch change.Act {
	case AddRole:
		_, err = c.client.RoleAdd(ctx, change.Name)
		return err, rpctypes.ErrRoleAlreadyExist
	case DeleteRole:
		_, err = c.client.RoleDelete(ctx, change.Name)
		return err, rpctypes.ErrRoleNotFound
	case Permit:
		_, err = c.client.RoleGrantPermission(ctx, change.Name, p.Key, p.End, accesses[Permission{Read: p.Read, Write: p.Write}])
		return err, nil
	case Forbid:
		_, err = c.client.RoleRevokePermission(ctx, change.Name, p.Key, p.End)
		return err, rpctypes.ErrPermissionNotGranted
	case AddUser:
		_, err = c.client.UserAddWithOptions(ctx, change.Name, password, &clientv3.UserAddOptions{NoPassword: password == ""})
		return err, rpctypes.ErrUserAlreadyExist
	case DeleteUser:
		_, err = c.client.UserDelete(ctx, change.Name)
		return err, rpctypes.ErrUserNotFound
	case SetPassword:
		_, err = c.client.UserChangePassword(ctx, change.Name, password)
		return err, nil
	case GrantRole:
		_, err = c.client.UserGrantRole(ctx, change.Name, change.Role)
		return err, nil
	case RevokeRole:
		_, err = c.client.UserRevokeRole(ctx, change.Name, change.Role)
		return err, rpctypes.ErrRoleNotGranted
	case EnableAuth:
		_, err = c.client.AuthEnable(ctx)
		return err, nil
	case DisableAuth:
		_, err = c.client.AuthDisable(ctx)
		return err, rpctypes.ErrAuthNotEnabled
	}
	return fmt.Errorf("unknown act %q", change.Act), nil
}
