package accounts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A member of a tenant names a hundred thousand roles of a user, and users with names of 64 KiB. All of that was made into changes in each pass, and written into
// the status.
func TestWhatAMemberNamesIsCut(t *testing.T) {
	s := managed(app)
	long := strings.Repeat("n", 64<<10)
	roles := []string{"app", long}
	for i := range 100_000 {
		roles = append(roles, fmt.Sprintf("role-%06d", i))
	}
	s.Spec.Auth.Users = s.Spec.Auth.Users[:1]
	s.AccountRecord = *Status(s, false, false)
	s.Accounts.Present = etcd.Accounts{
		Roles: []string{"app", long}, Users: []string{"web", "root", long}, Permissions: map[string][]etcd.Permission{"app": sorted(permissions(s.Spec.Auth.Roles[0]))},
		RolesOf: map[string][]string{"web": roles},
	}
	batch := Next(s)
	if len(batch.Changes) != mostAtOnce {
		t.Errorf("%d changes at once, want %d", len(batch.Changes), mostAtOnce)
	}
	if text := words(batch.Changes); len(text) > 2000 {
		t.Errorf("a message of %d bytes", len(text))
	}
	is := Status(s, true, true)
	if len(is.OtherUsers) != 1 || len(is.OtherUsers[0]) > 300 || len(is.OtherRoles) != 1 || len(is.OtherRoles[0]) > 300 {
		t.Errorf("the status has %d bytes of users and %d of roles", len(strings.Join(is.OtherUsers, "")), len(strings.Join(is.OtherRoles, "")))
	}
}
