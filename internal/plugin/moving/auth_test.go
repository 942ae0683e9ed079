package moving

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// After a move, each client was refused: authentication was on in the new cluster, but the operator issued no certificate for its users, because they were not in its spec.
func TestTheNewClusterHasTheUsersOfTheSource(t *testing.T) {
	source := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "old", Name: "source"}, Spec: v1beta2.EtcdClusterSpec{Size: 3, Auth: &v1beta2.AuthPolicy{
		Enabled: ptr.To(true), Roles: []v1beta2.AuthRole{{Name: "app"}},
		Users: []v1beta2.AuthUser{{Name: "web", Roles: []string{"app"}, Certificate: &v1beta2.AuthCertificate{}}, {Name: "job", PasswordSecret: "job"}},
	}}}
	r := Request{Namespace: "new", Name: "target", From: source}
	c, err := r.NewCluster("3.6.16")
	if diff := cmp.Diff(source.Spec.Auth, c.Spec.Auth); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if got := r.Secrets("new", v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "old"}}); !cmp.Equal(got, []string{"job"}) {
		t.Errorf("the command asks for the Secrets %q", got)
	}
	r.PlainText = true
	c, err = r.NewCluster("3.6.16")
	if err != nil || c.Spec.Auth.Users[0].Certificate != nil || source.Spec.Auth.Users[0].Certificate == nil {
		t.Errorf("without TLS, there are no certificates: %+v, error %v", c.Spec.Auth.Users, err)
	}
}

// After a move, the certificate of the applications was of another user, whom etcd does not have. Each of them was refused, and there is no way back.
func TestTheClientsOfTheNewClusterAreTheUserThatTheyWere(t *testing.T) {
	for name, tls := range map[string]*v1beta2.TLSPolicy{
		"managed":      {Managed: &v1beta2.ManagedTLS{ClientCommonName: "shop"}},
		"cert-manager": {CertManager: &v1beta2.CertManagerTLS{ClientCommonName: "shop"}},
	} {
		r := Request{Namespace: "new", Name: "target", From: &v1beta2.EtcdCluster{Spec: v1beta2.EtcdClusterSpec{TLS: tls}}}
		c, err := r.NewCluster("3.6.16")
		if err != nil || c.Spec.TLS.ClientCommonName() != "shop" {
			t.Errorf("%s: the clients are user %q, error %v", name, c.Spec.TLS.ClientCommonName(), err)
		}
		if text := Connect(c); !strings.Contains(text, "(user shop)") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// Without TLS, the operators of a source with certificates are no user of the new cluster. The standby took over, the operators were refused, and the source never takes writes again.
func TestNoUserIsLockedOutOfTheNewCluster(t *testing.T) {
	user := v1beta2.AuthUser{Name: "web"}
	source := func(users ...v1beta2.AuthUser) *v1beta2.EtcdCluster {
		return &v1beta2.EtcdCluster{Spec: v1beta2.EtcdClusterSpec{Auth: &v1beta2.AuthPolicy{Enabled: ptr.To(true), OperatorSecret: "root", Users: users}}}
	}
	certified := source()
	certified.Spec.Auth.OperatorSecret = ""
	for name, c := range map[string]struct {
		r    Request
		want string
	}{
		"the operators have a certificate":           {Request{From: certified, PlainText: true}, "--client-auth-secret"},
		"the operators of endpoints":                 {Request{Endpoints: []string{"https://a"}, TLSSecret: "root", PlainText: true}, "--client-auth-secret"},
		"a user has a certificate":                   {Request{From: source(user), PlainText: true}, "web have no password"},
		"all have passwords":                         {Request{From: source(v1beta2.AuthUser{Name: "web", PasswordSecret: "web"}), PlainText: true}, ""},
		"the operators of endpoints have a password": {Request{Endpoints: []string{"http://a"}, AuthSecret: "root", PlainText: true}, ""},
		"with TLS": {Request{From: certified}, ""},
	} {
		if got := c.r.LockedOut(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if !(Request{From: certified}).AuthenticationOn() || (Request{From: &v1beta2.EtcdCluster{}}).AuthenticationOn() {
		t.Error("it is not seen whether authentication is on")
	}
}

// A standby followed its source for weeks. A user that was removed from the source in this time was still in the spec of the new EtcdCluster, so it came back with the hand-over.
func TestTheNewClusterHasTheUsersThatTheSourceHasAtTheHandOver(t *testing.T) {
	policy := func(names ...string) *v1beta2.AuthPolicy {
		policy := &v1beta2.AuthPolicy{Enabled: ptr.To(true)}
		for _, name := range names {
			policy.Users = append(policy.Users, v1beta2.AuthUser{Name: name, Certificate: &v1beta2.AuthCertificate{}})
		}
		return policy
	}
	managed := &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
	given := Request{Namespace: "new", Name: "target", From: &v1beta2.EtcdCluster{Spec: v1beta2.EtcdClusterSpec{Auth: policy("web", "former")}}}
	b := v1beta2.EtcdBackup{}
	b.Spec.StorageType, b.Spec.S3 = v1beta2.StorageS3, &v1beta2.S3Source{Path: "bucket/folder"}
	restore := given.NewRestore(b)
	for name, c := range map[string]struct {
		source, target   *v1beta2.AuthPolicy
		outdated, edited bool
	}{
		"nothing has changed":        {policy("web", "former"), policy("web", "former"), false, false},
		"a user left the source":     {policy("web"), policy("web", "former"), true, false},
		"a person has done the same": {policy("web"), policy("web"), false, false},
		"only the target was edited": {policy("web", "former"), policy("web"), false, false},
		"both have changed":          {policy("web"), policy("web", "former", "new"), true, true},
		"the source has no users":    {nil, policy("web", "former"), true, false},
	} {
		r := Request{Namespace: "new", Name: "target", From: &v1beta2.EtcdCluster{Spec: v1beta2.EtcdClusterSpec{Auth: c.source}}}
		o := Objects{Restore: &restore, Cluster: &v1beta2.EtcdCluster{Spec: v1beta2.EtcdClusterSpec{TLS: managed, Auth: c.target}}}
		if got := r.UsersOf(o); got.Outdated != c.outdated || got.Edited != c.edited || got.Outdated && !cmp.Equal(got.Auth, c.source) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := (Request{}).UsersOf(Objects{Restore: &restore, Cluster: &v1beta2.EtcdCluster{}}); got.Outdated {
		t.Error("the users of endpoints are known")
	}
}
