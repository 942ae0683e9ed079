package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

func withUsers() *v1beta2.EtcdCluster {
	c := example()
	c.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
	c.Spec.Auth = &v1beta2.AuthPolicy{Users: []v1beta2.AuthUser{
		{Name: "client", Roles: []string{"shop"}}, {Name: "report", Roles: []string{"report", "shop"}, Certificate: &v1beta2.AuthCertificate{}},
		{Name: "job", PasswordSecret: "job"}, {Name: "new", PasswordSecret: "new"},
	}}
	c.Status.Auth = &v1beta2.AuthStatus{
		Enabled: true, OtherUsers: []string{"person"},
		Users: []v1beta2.AuthUserStatus{{Name: "client", Version: "1/"}, {Name: "report", Version: "1/"}, {Name: "job", Version: "pending"}},
	}
	return c
}

// A platform team could not see which tenant authenticates with what, and whether its user is in etcd.
func TestUsersShowsWithWhatEachAuthenticates(t *testing.T) {
	k := kitOf(t, withUsers())
	screen(t, "users", k.must(t, "users", "example"))
	if !strings.Contains(k.err.String(), "Authentication is on.") {
		t.Error(k.err.String())
	}
	if out := k.must(t, "users", "example", "-o", "json"); !strings.Contains(out, `"inEtcd": "changing"`) {
		t.Error(out)
	}
	k = kitOf(t, example())
	if out := k.must(t, "users", "example"); out != "" || !strings.Contains(k.err.String(), "spec.auth") {
		t.Errorf("%q %q", out, k.err.String())
	}
}

// The certificate of one user was written in place of another's.
func TestCertificateWritesThatOfTheUser(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	secret := clientSecret()
	secret.Name = "example-report-tls"
	k := kitOf(t, withUsers(), secret)
	if out := k.must(t, "certificate", "example", "report", "--dir", dir); !strings.Contains(out, "export ETCDCTL_CERT='"+filepath.Join(dir, v1beta2.ClientCertKey)) || strings.Contains(out, "BEGIN") {
		t.Error(out)
	}
	if _, err := k.run(t, "certificate", "client", "--dir", dir); err == nil || !strings.Contains(err.Error(), "certificate: {}") {
		t.Errorf("a user without a certificate: %v", err)
	}
}
