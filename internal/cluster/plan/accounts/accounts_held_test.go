package accounts_test

import (
	"fmt"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/accounts"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// The third password within minutes was not set for ten minutes, and the status said that another party reverses the change.
func TestEachNewPasswordIsSetAtOnce(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3))
	s.Spec.Auth = &v1beta2.AuthPolicy{Users: []v1beta2.AuthUser{{Name: "job", PasswordSecret: "job"}}}
	s.Accounts = state.Accounts{Known: true, Present: etcd.Accounts{Users: []string{"job"}}}
	var repeats plan.Repeats
	for i := range 5 {
		s.AccountRecord.Users = []v1beta2.AuthUserStatus{{Name: "job", Version: fmt.Sprintf("changing %d/job/%d", s.Incarnation, i)}}
		s.Accounts.PasswordVersions = map[string]string{"job": fmt.Sprint(i + 1)}
		s.Held = repeats.Held(1, s.Now)
		step := accounts.Change(s)
		if step == nil {
			t.Fatalf("password %d is not set: held are %+v", i+1, s.Held)
		}
		repeats.Did(s, step, 1, s.Now)
	}
}

// A restored cluster served clients and could not grow, because no node had room. For as long as that lasted, users had the passwords of the snapshot, and users that were removed
// since could log in. Also before the switch, a restore that waited for a person kept the users of the cluster that serves as they were.
func TestUsersAreAsTheSpecSaysWhileARestoreLasts(t *testing.T) {
	for step, may := range map[v1beta2.RestoreStep]bool{v1beta2.RestoreSeeding: true, v1beta2.RestoreSwitching: false, v1beta2.RestoreGrowing: true, v1beta2.RestoreComplete: true} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Restored(step))
		s.Spec.Auth = &v1beta2.AuthPolicy{Users: []v1beta2.AuthUser{{Name: "job"}}}
		s.Accounts = state.Accounts{Known: true}
		if changes := accounts.Change(s) != nil; changes != may {
			t.Errorf("%s: users are changed: %t, want %t", step, changes, may)
		}
	}
}
