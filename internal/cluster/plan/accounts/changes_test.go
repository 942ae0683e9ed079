package accounts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// settle makes the changes of a State until there is none, and returns their words in order.
func settle(t *testing.T, s *state.State, f *fakeEtcd, passwords map[string]string) (made []string) {
	t.Helper()
	for range 20 {
		s.Accounts.Present = f.read(s.Spec.Auth)
		batch := Next(*s)
		for _, c := range batch.Changes {
			if err := f.do(c, passwords); err != nil {
				t.Fatalf("after %q: %v", made, err)
			}
			made = append(made, words([]etcd.AccountChange{c}))
		}
		s.AccountRecord = *Status(*s, !batch.empty(), true)
		if batch.empty() {
			return made
		}
	}
	t.Fatalf("it never settles: %q", made)
	return nil
}

var app = v1beta2.AuthPolicy{
	Enabled: ptr.To(true),
	Roles:   []v1beta2.AuthRole{{Name: "app", Permissions: []v1beta2.AuthPermission{prefixPermission("/app/", v1beta2.AccessReadWrite)}}},
	Users:   []v1beta2.AuthUser{{Name: "web", Roles: []string{"app"}}, {Name: "job", Roles: []string{"app"}, PasswordSecret: "job"}},
}

// Authentication was on before the users that may were there, so their clients were refused.
func TestAuthenticationIsTurnedOnLast(t *testing.T) {
	s, f := managed(app), newFake()
	s.Accounts.PasswordVersions["job"] = "7"
	got := settle(t, &s, f, map[string]string{"job": "secret"})
	want := []string{
		"add role app", "permit keys to role app", "add user web", "grant role app of user web", "add user job", "grant role app of user job",
		"add user root", "grant role root of user root", "enable authentication",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !f.on || f.users["job"].password != "secret" || !f.users["web"].noPassword {
		t.Errorf("etcd has %+v", f)
	}
	wantStatus := v1beta2.AuthStatus{Enabled: true, Incarnation: 1, Roles: []string{"app"}, Users: []v1beta2.AuthUserStatus{{Name: "job", Version: "1/job/7"}, {Name: "web", Version: "1/"}}}
	if diff := cmp.Diff(wantStatus, s.AccountRecord); diff != "" {
		t.Error(diff)
	}
}

// The operators were locked out of etcd for good: authentication was turned on while they had no user, or one whose password was set by hand.
func TestAuthenticationIsTurnedOnOnlyIfTheOperatorsHaveAUser(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*state.State, *fakeEtcd)
		problem string
	}{
		"without any identity": {func(s *state.State, _ *fakeEtcd) { s.Accounts.CertificateUser = "" }, "The operators have no user in etcd"},
		"a Secret that is missing": {func(s *state.State, _ *fakeEtcd) {
			s.Accounts.PasswordVersions["job"], s.Accounts.PasswordProblems["job"] = "", "Secret job is missing."
		}, "The password of user job is not known"},
		"a role that does not exist": {func(s *state.State, _ *fakeEtcd) { s.Spec.Auth.Users[0].Roles = []string{"admin"} }, "neither spec.auth.roles nor etcd has"},
	} {
		t.Run(name, func(t *testing.T) {
			s, f := managed(*app.DeepCopy()), newFake()
			s.Accounts.PasswordVersions["job"] = "7"
			test.prepare(&s, f)
			settle(t, &s, f, map[string]string{"job": "secret"})
			if problems := Problems(s); f.on || len(problems) != 1 || !strings.Contains(problems[0], test.problem) {
				t.Errorf("on: %t, problems %q, want one with %q", f.on, problems, test.problem)
			}
		})
	}
	s, f := managed(*app.DeepCopy()), newFake()
	s.Accounts.PasswordVersions["job"], s.Authentication.User, s.Spec.Auth.OperatorSecret = "7", "keeper", "keeper"
	f.users["keeper"] = &fakeUser{noPassword: true}
	settle(t, &s, f, map[string]string{"job": "secret", "keeper": "right"})
	if !f.on || f.users["keeper"].password != "right" {
		t.Errorf("authentication is on: %t, with the operators' user %+v", f.on, f.users["keeper"])
	}
}

// A user that was taken out of the spec could still read all keys, or one that a person had made by hand was deleted.
func TestOnlyWhatWasInTheSpecIsRemoved(t *testing.T) {
	s, f := managed(*app.DeepCopy()), newFake()
	f.users["hand"], f.roles["hand"] = &fakeUser{roles: []string{"hand"}}, nil
	s.Accounts.PasswordVersions["job"] = "7"
	settle(t, &s, f, nil)
	s.Spec.Auth.Users, s.Spec.Auth.Roles = s.Spec.Auth.Users[1:], nil
	s.Spec.Auth.Users[0].Roles = []string{"hand"}
	settle(t, &s, f, nil)
	if f.users["web"] != nil || f.roles["app"] != nil || f.users["hand"] == nil || f.users["root"] == nil {
		t.Errorf("etcd has %+v", f.users)
	}
	if diff := cmp.Diff([]string{"hand"}, f.users["job"].roles); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"hand"}, s.AccountRecord.OtherUsers); diff != "" {
		t.Error(diff)
	}

	s.Spec.Auth.RemovalPolicy, s.Spec.Auth.Users = v1beta2.AuthRemovalRetain, nil
	settle(t, &s, f, nil)
	if f.users["job"] == nil {
		t.Error("with the policy Retain, a user was removed")
	}
	s.Spec.Auth.RemovalPolicy = v1beta2.AuthRemovalDelete
	settle(t, &s, f, nil)
	if f.users["job"] == nil {
		t.Error("a user that was retained was removed when the policy changed")
	}
}

// A restore brought the users and passwords of the snapshot back, and one that had been removed could read all keys again.
func TestAfterARestoreTheSpecWins(t *testing.T) {
	s, f := managed(*app.DeepCopy()), newFake()
	s.Accounts.PasswordVersions["job"] = "7"
	settle(t, &s, f, map[string]string{"job": "old"})
	snapshot := f.clone()
	s.Accounts.PasswordVersions["job"] = "8"
	s.Spec.Auth.Users = append(s.Spec.Auth.Users[1:], v1beta2.AuthUser{Name: "new", Roles: []string{"app"}})
	settle(t, &s, f, map[string]string{"job": "new"})
	if f.users["web"] != nil || f.users["job"].password != "new" {
		t.Fatalf("before the restore etcd has %+v", f.users)
	}
	s.Incarnation, f = 2, snapshot
	settle(t, &s, f, map[string]string{"job": "new"})
	if f.users["web"] != nil || f.users["job"].password != "new" || f.users["new"] == nil {
		t.Errorf("after the restore etcd has %+v", f.users)
	}
	f.users["web"] = &fakeUser{}
	settle(t, &s, f, map[string]string{"job": "new"})
	if f.users["web"] == nil {
		t.Error("a user that a person added after the restore was removed")
	}
}

// etcd ignored the password of a user that was added without one, so a client with the password was refused.
func TestAUserThatGetsOrLosesItsPasswordIsMadeAnew(t *testing.T) {
	s, f := managed(*app.DeepCopy()), newFake()
	s.Accounts.PasswordVersions["job"], s.Accounts.PasswordVersions["web"] = "7", "1"
	settle(t, &s, f, map[string]string{"job": "secret"})
	s.Spec.Auth.Users[0].PasswordSecret, s.Spec.Auth.Users[1].PasswordSecret = "web", ""
	settle(t, &s, f, map[string]string{"job": "secret", "web": "other"})
	if web, job := f.users["web"], f.users["job"]; web.password != "other" || !job.noPassword || len(web.roles) != 1 || len(job.roles) != 1 {
		t.Errorf("web %+v, job %+v", web, job)
	}
	s.Accounts.PasswordVersions["web"] = "2"
	if got := settle(t, &s, f, map[string]string{"web": "third"}); len(got) != 1 || f.users["web"].password != "third" {
		t.Errorf("a changed Secret: %q, the password is %q", got, f.users["web"].password)
	}
}

// A permission was wider than the spec, so a client of one prefix read another one.
func TestThePermissionsOfARoleAreThoseOfTheSpec(t *testing.T) {
	policy := v1beta2.AuthPolicy{Roles: []v1beta2.AuthRole{{Name: "r", Permissions: []v1beta2.AuthPermission{
		prefixPermission("/a/", v1beta2.AccessRead), prefixPermission("/a/", v1beta2.AccessWrite), prefixPermission("", v1beta2.AccessRead),
		{Key: "k", Access: v1beta2.AccessWrite}, {Range: &v1beta2.AuthRange{From: "m", To: "n"}, Access: v1beta2.AccessReadWrite},
	}}}}
	s, f := managed(policy), newFake()
	f.roles["r"] = []etcd.Permission{{Key: "/b/", End: "/b0", Read: true}, {Key: "k", Read: true, Write: true}}
	settle(t, &s, f, nil)
	want := []etcd.Permission{
		{Key: "\x00", End: "\x00", Read: true}, {Key: "/a/", End: "/a0", Read: true, Write: true}, {Key: "k", Write: true}, {Key: "m", End: "n", Read: true, Write: true},
	}
	if diff := cmp.Diff(want, f.roles["r"]); diff != "" {
		t.Error(diff)
	}
	if f.on {
		t.Error("authentication was turned on, and the spec does not ask for it")
	}
}
