package accounts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// The members of a hundred clusters of a tenant named as many users, roles and permissions as the operator reads. It kept four MiB of each cluster, and ended: so no cluster
// of any namespace was repaired.
func TestLittleIsKeptOfWhatAMemberNames(t *testing.T) {
	s := managed(app)
	s.AccountRecord = *Status(s, false, false)
	named := func(kind string, size int) (names []string) {
		for i := range 1 << 20 / size {
			names = append(names, fmt.Sprintf("%s-%06d-%s", kind, i, strings.Repeat("x", size)))
		}
		return names
	}
	for name, read := range map[string]func() etcd.Accounts{
		"many": func() etcd.Accounts {
			var ranges []etcd.Permission
			for _, key := range named("key", 10) {
				ranges = append(ranges, etcd.Permission{Key: key, Read: true})
			}
			return etcd.Accounts{
				Users: append(named("user", 10), "web"), Roles: append(named("role", 10), "app"),
				Permissions: map[string][]etcd.Permission{"app": ranges}, RolesOf: map[string][]string{"web": append(named("role", 10), "app"), "job": named("role", 10)},
			}
		},
		"long": func() etcd.Accounts {
			return etcd.Accounts{Users: named("user", 30<<10), Roles: named("role", 30<<10), RolesOf: map[string][]string{"web": named("role", 30<<10)}}
		},
		"repeated": func() etcd.Accounts {
			return etcd.Accounts{Users: slices.Repeat([]string{"web"}, 100_000), RolesOf: map[string][]string{"web": slices.Repeat([]string{"app"}, 100_000)}}
		},
	} {
		heaptest.Holds(t, 250, func() any {
			all := read()
			kept := Needed(s, all)
			full := s
			full.Accounts.Present = all
			part := s
			part.Accounts.Present = kept
			if diff := cmp.Diff(Status(full, false, false), Status(part, false, false)); diff != "" {
				t.Errorf("%s: another status: %s", name, diff)
			}
			if len(Next(full).Changes) > 0 && len(Next(part).Changes) == 0 {
				t.Errorf("%s: nothing is changed, want %s", name, words(Next(full).Changes))
			}
			return kept
		})
	}
}
