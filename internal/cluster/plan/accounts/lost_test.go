package accounts

import (
	"fmt"
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// The operator ended after it had removed a user and a role, and before it wrote the status. Nothing remembered them, so a restore brought them
// back for good.
func TestAUserIsRememberedWhoseRemovalTheStatusMissed(t *testing.T) {
	s, f := managed(*app.DeepCopy()), newFake()
	s.Accounts.PasswordVersions["job"] = "7"
	settle(t, &s, f, map[string]string{"job": "secret"})
	snapshot := f.clone()
	s.Spec.Auth.Users, s.Spec.Auth.Roles = s.Spec.Auth.Users[1:], nil
	s.Spec.Auth.Users[0].Roles = nil
	s.Accounts.Present = f.read(s.Spec.Auth)
	for _, c := range Next(s).Changes { // the status is not written
		if err := f.do(c, nil); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, &s, f, map[string]string{"job": "secret"})
	if !slices.Contains(s.AccountRecord.RemovedUsers, "web") || !slices.Contains(s.AccountRecord.RemovedRoles, "app") {
		t.Errorf("the status remembers the users %q and the roles %q", s.AccountRecord.RemovedUsers, s.AccountRecord.RemovedRoles)
	}
	s.Incarnation, f = 2, snapshot
	settle(t, &s, f, map[string]string{"job": "secret"})
	if _, role := f.roles["app"]; f.users["web"] != nil || role {
		t.Errorf("after the restore etcd has %+v, %+v", f.users, f.roles)
	}
}

// A recovery from a lost quorum continued from a member that lacked the last changes. The status had them, so a user that had been removed could read all
// keys again, and another one had an older password.
func TestAfterARecoveryTheSpecWins(t *testing.T) {
	s, f := managed(*app.DeepCopy()), newFake()
	s.Accounts.PasswordVersions["job"] = "7"
	settle(t, &s, f, map[string]string{"job": "old"})
	survivor := f.clone()
	s.Accounts.PasswordVersions["job"], s.Spec.Auth.Users = "8", s.Spec.Auth.Users[1:]
	settle(t, &s, f, map[string]string{"job": "new"})
	s.Recovery, s.Accounts.Known = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing}, false
	s.AccountRecord = *Status(s, false, false)
	s.Recovery.Step, s.Accounts.Known = v1beta2.RecoveryGrowing, true
	settle(t, &s, survivor, map[string]string{"job": "new"})
	if survivor.users["web"] != nil || survivor.users["job"].password != "new" {
		t.Errorf("after the recovery etcd has %+v, job with password %q", survivor.users, survivor.users["job"].password)
	}
}

// A step ended between the deletion of a user and its addition, because it had too many changes. Its clients were refused until the next one.
func TestAStepEndsWithAllChangesOfAUser(t *testing.T) {
	var policy v1beta2.AuthPolicy
	for _, name := range names(3*mostAtOnce, "u") {
		policy.Users = append(policy.Users, v1beta2.AuthUser{Name: name, Roles: []string{"root"}})
	}
	s, f := managed(policy), newFake()
	settle(t, &s, f, nil)
	s.Incarnation = 2
	for range 100 {
		s.Accounts.Present = f.read(s.Spec.Auth)
		batch := Next(s)
		if batch.empty() {
			break
		}
		for _, c := range batch.Changes {
			if err := f.do(c, nil); err != nil {
				t.Fatal(err)
			}
		}
		if len(f.users) != 3*mostAtOnce {
			t.Fatalf("after a step etcd has %d users", len(f.users))
		}
		s.AccountRecord = *Status(s, true, true)
	}
	if last := Next(s); !last.empty() {
		t.Errorf("it does not settle: %d changes", len(last.Changes))
	}
	if got := len(upToAName([]etcd.AccountChange{{Name: "a"}, {Name: "a"}, {Name: "b"}}, 2)); got != 2 {
		t.Errorf("%d changes, want 2", got)
	}
}

func names(n int, prefix string) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s%d", prefix, i))
	}
	return all
}

// Users are removed one after the other. If the status forgot the earlier ones, a restore of a snapshot that has them would give them access again.
func TestEachRemovedUserIsRememberedOnce(t *testing.T) {
	policy := v1beta2.AuthPolicy{}
	for _, name := range []string{"a", "b", "c"} {
		policy.Users = append(policy.Users, v1beta2.AuthUser{Name: name, Roles: []string{"root"}})
	}
	s, f := managed(*policy.DeepCopy()), newFake()
	settle(t, &s, f, nil)
	for _, left := range []int{2, 1, 2, 1} { // b is removed twice
		s.Spec.Auth.Users = policy.DeepCopy().Users[:left]
		settle(t, &s, f, nil)
	}
	if want := []string{"c", "b"}; !slices.Equal(s.AccountRecord.RemovedUsers, want) {
		t.Errorf("the status remembers %q, want %q", s.AccountRecord.RemovedUsers, want)
	}
}
