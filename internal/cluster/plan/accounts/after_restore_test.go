package accounts

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// After a disaster, a team could not see who may read its keys now: the status did not say what a restore had brought back.
func TestTheStatusNamesWhatARestoreHadBroughtBack(t *testing.T) {
	s, f := managed(*app.DeepCopy()), newFake()
	s.Accounts.PasswordVersions["job"] = "7"
	settle(t, &s, f, map[string]string{"job": "secret"})
	if got := s.AccountRecord.AfterRestore; got != nil {
		t.Errorf("without a restore, the status has %+v", got)
	}
	snapshot := f.clone()
	s.Spec.Auth.Users = append(s.Spec.Auth.Users[1:], v1beta2.AuthUser{Name: "new", Roles: []string{"app"}})
	s.Spec.Auth.Roles = append(s.Spec.Auth.Roles, v1beta2.AuthRole{Name: "more", Permissions: []v1beta2.AuthPermission{prefixPermission("/more/", v1beta2.AccessRead)}})
	settle(t, &s, f, map[string]string{"job": "secret"})
	snapshot.roles["app"] = []etcd.Permission{{Key: "/", End: "0", Read: true, Write: true}}
	s.Incarnation, f = 2, snapshot
	settle(t, &s, f, map[string]string{"job": "secret"})
	want := &v1beta2.AuthAfterRestore{Incarnation: 2, Added: []string{"role more", "user new"}, Removed: []string{"user web"}, Changed: []string{"role app"}}
	if diff := cmp.Diff(want, s.AccountRecord.AfterRestore); diff != "" {
		t.Error(diff)
	}

	s.Spec.Auth.Users = s.Spec.Auth.Users[:1]
	settle(t, &s, f, map[string]string{"job": "secret"})
	if diff := cmp.Diff(want, s.AccountRecord.AfterRestore); diff != "" {
		t.Errorf("a change of the spec is written as one of the restore: %s", diff)
	}
	f.users["job"].roles = nil
	s.Incarnation = 3
	settle(t, &s, f, map[string]string{"job": "secret"})
	if diff := cmp.Diff(&v1beta2.AuthAfterRestore{Incarnation: 3, Changed: []string{"user job"}}, s.AccountRecord.AfterRestore); diff != "" {
		t.Error(diff)
	}
}

// After a restore, the first changes often end with an error, because the members have just started. The next pass made the rest, and only that was in the status.
func TestTheStatusNamesAlsoWhatWasChangedBeforeAnError(t *testing.T) {
	s, f := managed(*app.DeepCopy()), newFake()
	s.Accounts.PasswordVersions["job"] = "7"
	settle(t, &s, f, map[string]string{"job": "secret"})
	s.Spec.Auth.Users = append(s.Spec.Auth.Users[1:], v1beta2.AuthUser{Name: "new", Roles: []string{"app"}}, v1beta2.AuthUser{Name: "other", Roles: []string{"app"}})
	s.Incarnation = 2 // of a snapshot with web, and without new and other
	for s.Accounts.Present = f.read(s.Spec.Auth); len(Next(s).Changes) == 0; s.Accounts.Present = f.read(s.Spec.Auth) {
		s.AccountRecord = *Status(s, true, true)
	}
	for _, c := range Next(s).Changes {
		if c.Name == "new" {
			if err := f.do(c, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.AccountRecord = *Status(s, true, false)
	settle(t, &s, f, map[string]string{"job": "secret"})
	want := &v1beta2.AuthAfterRestore{Incarnation: 2, Added: []string{"user new", "user other"}, Removed: []string{"user web"}}
	if diff := cmp.Diff(want, s.AccountRecord.AfterRestore); diff != "" {
		t.Error(diff)
	}
}

// A restored snapshot had authentication off. The operators turned it on, and the status said that the restore had given root other rights.
func TestTheUserOfTheOperatorsIsNotNamedAfterARestore(t *testing.T) {
	s, f := managed(*app.DeepCopy()), newFake()
	s.Accounts.PasswordVersions["job"] = "7"
	settle(t, &s, f, map[string]string{"job": "secret"})
	f.on, s.Incarnation = false, 2
	settle(t, &s, f, map[string]string{"job": "secret"})
	if diff := cmp.Diff(&v1beta2.AuthAfterRestore{Incarnation: 2}, s.AccountRecord.AfterRestore); !f.on || diff != "" {
		t.Errorf("authentication is on: %t\n%s", f.on, diff)
	}
}
