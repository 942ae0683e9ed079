package accounts

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// The Secret of the operators was missing for a while, so authentication was turned on for the user of their certificate. When the Secret came, its user
// was not in etcd, and etcd refused the operators.
func TestAuthenticationIsNotTurnedOnWhileTheSecretOfTheOperatorsIsMissing(t *testing.T) {
	s, f := managed(v1beta2.AuthPolicy{Enabled: ptr.To(true), OperatorSecret: "keeper"}), newFake()
	s.Authentication.Problem = "Secret keeper is missing."
	settle(t, &s, f, nil)
	if problems := Problems(s); f.on || len(problems) != 1 || !strings.Contains(problems[0], "Secret keeper is missing.") {
		t.Errorf("on: %t, problems %q", f.on, problems)
	}
	s.Authentication = state.Authentication{User: "keeper"}
	settle(t, &s, f, map[string]string{"keeper": "secret"})
	if keeper := f.users["keeper"]; !f.on || keeper == nil || keeper.password != "secret" {
		t.Errorf("on: %t, users %+v", f.on, f.users)
	}
}

// While the Secret of the operators was missing, a user of the spec with the name of theirs lost the role root.
func TestTheUserOfTheOperatorsKeepsTheRoleRootWhileTheirSecretIsMissing(t *testing.T) {
	s, f := managed(*app.DeepCopy()), newFake()
	s.Accounts.PasswordVersions["job"], s.Spec.Auth.OperatorSecret = "7", "keeper"
	s.Spec.Auth.Users[0].Name = "keeper"
	f.users["keeper"], f.users["root"], f.on = &fakeUser{roles: []string{"root"}, password: "secret"}, &fakeUser{roles: []string{"root"}, noPassword: true}, true
	s.Authentication.Problem = "Secret keeper is missing."
	settle(t, &s, f, map[string]string{"job": "secret"})
	if keeper := f.users["keeper"]; keeper == nil || strings.Join(keeper.roles, " ") != "root" || keeper.noPassword {
		t.Errorf("the operators' user is %+v", keeper)
	}
}
