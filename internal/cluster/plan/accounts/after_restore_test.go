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
