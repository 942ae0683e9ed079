package plugin

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/moving"
)

// User is a user of etcd, as the spec and the status of an EtcdCluster say.
type User struct {
	Name  string   `json:"name"`
	Roles []string `json:"roles,omitempty"`
	// By is with what the user authenticates.
	By string `json:"authenticatesBy"`
	// In is yes, no or changing.
	In string `json:"inEtcd"`
}

// Users returns the users of the spec, and then those that others made.
func Users(c v1beta2.EtcdCluster) []User {
	status := v1beta2.AuthStatus{}
	if c.Status.Auth != nil {
		status = *c.Status.Auth
	}
	var users []User
	if c.Spec.Auth != nil {
		for _, u := range c.Spec.Auth.Users {
			users = append(users, User{Name: u.Name, Roles: u.Roles, By: authenticatesBy(c, u), In: inEtcd(status, u.Name)})
		}
	}
	for _, name := range status.OtherUsers {
		users = append(users, User{Name: name, By: "not in the spec", In: "yes"})
	}
	return users
}

func authenticatesBy(c v1beta2.EtcdCluster, u v1beta2.AuthUser) string {
	var by []string
	if u.Certificate != nil {
		by = append(by, "Secret "+v1beta2.UserSecret(c.Name, u.Name))
	}
	if u.PasswordSecret != "" {
		by = append(by, "password in Secret "+u.PasswordSecret)
	}
	if len(by) == 0 {
		return "certificate with that common name"
	}
	return strings.Join(by, ", ")
}

func inEtcd(status v1beta2.AuthStatus, name string) string {
	i := slices.IndexFunc(status.Users, func(u v1beta2.AuthUserStatus) bool { return u.Name == name })
	switch {
	case i < 0:
		return "no"
	case !strings.Contains(status.Users[i].Version, "/") || strings.HasPrefix(status.Users[i].Version, "changing "):
		return "changing"
	}
	return "yes"
}

// Authentication says whether etcd's authentication is on, as the status says.
func Authentication(c v1beta2.EtcdCluster) string {
	switch {
	case c.Status.Auth == nil:
		return "The status does not say whether authentication is on, because spec.auth has neither enabled, roles nor users."
	case c.Status.Auth.Enabled:
		return "Authentication is on."
	}
	return "Authentication is off, so each client may do everything."
}

// mostAfterRestore is how many names each list of status.auth.afterRestore has at most.
const mostAfterRestore = 20

// AfterRestore says what the last restore or recovery had brought back, and the operator has changed; empty if that is nothing.
func AfterRestore(c v1beta2.EtcdCluster) string {
	if c.Status.Auth == nil || c.Status.Auth.AfterRestore == nil {
		return ""
	}
	var parts []string
	was := *c.Status.Auth.AfterRestore
	for _, part := range []struct {
		about string
		names []string
	}{{"it added ", was.Added}, {"it removed ", was.Removed}, {"it gave other rights to ", was.Changed}} {
		if len(part.names) > 0 {
			text := part.about + strings.Join(part.names, ", ")
			if len(part.names) == mostAfterRestore {
				text += " and possibly more"
			}
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "After the last restore or recovery, the operator made etcd as the spec says: " + strings.Join(parts, "; ") + "."
}

// Rows are the cells of a table of users.
func Rows(users []User) (header []string, rows [][]string) {
	for _, u := range users {
		roles := strings.Join(u.Roles, ", ")
		if roles == "" {
			roles = "-"
		}
		rows = append(rows, []string{u.Name, roles, u.By, u.In})
	}
	return []string{"USER", "ROLES", "AUTHENTICATES BY", "IN ETCD"}, rows
}

// NoCertificate is the error for a user without a certificate of the operator.
func NoCertificate(c v1beta2.EtcdCluster, user string) error {
	if slices.Contains(c.Spec.Auth.Certified(), user) {
		return nil
	}
	return fmt.Errorf("user %s of EtcdCluster %s has no certificate of the operator. Nothing was written. Add certificate: {} to the user in spec.auth.users", user, c.Name)
}

// OperatorUser is the user of the operators in etcd, unless the spec names a Secret with another one.
const OperatorUser = "root"

// SecretOfUser returns the name of the Secret with the certificate of a user. root is the user of the operators.
func SecretOfUser(c v1beta2.EtcdCluster, user string) (string, error) {
	tls := c.Spec.TLS
	switch {
	case !tls.SecureClient():
		return "", fmt.Errorf("EtcdCluster %s has no TLS, so its users have no certificates. Nothing was run. Give etcdctl the user and the password: kubectl etcd ctl %s -- --user %s …", c.Name, c.Name, user)
	case user == OperatorUser:
		return tls.OperatorSecret(c.Name), nil
	case tls.Issued() && user == moving.ClientUser(c):
		return tls.ClientSecret(c.Name), nil
	}
	return v1beta2.UserSecret(c.Name, user), NoCertificate(c, user)
}

// NeedsUser returns an error if etcd would refuse etcdctl in the Pod of a member, because authentication is on and the certificate there is of no user.
func NeedsUser(c v1beta2.EtcdCluster, args []string) error {
	named := slices.ContainsFunc(args, func(arg string) bool { return arg == "--user" || strings.HasPrefix(arg, "--user=") })
	if named || !c.Spec.TLS.Issued() || c.Status.Auth == nil || !c.Status.Auth.Enabled {
		return nil
	}
	return fmt.Errorf("authentication is on in etcd, and the certificate in the Pod of a member is of no user. Nothing was run. "+
		"Name a user with a certificate: kubectl etcd ctl %s --user root -- … uses that of the operators, and kubectl etcd users %s lists the others", c.Name, c.Name)
}

// CtlFlags are the flags by which etcdctl on this machine reaches a member with TLS, with the files of a user.
func CtlFlags(port uint16, directory string) []string {
	return []string{
		fmt.Sprintf("--endpoints=https://localhost:%d", port), "--cacert=" + filepath.Join(directory, v1beta2.ClientCAKey),
		"--cert=" + filepath.Join(directory, v1beta2.ClientCertKey), "--key=" + filepath.Join(directory, v1beta2.ClientKeyKey),
	}
}
