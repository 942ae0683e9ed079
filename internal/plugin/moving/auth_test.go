package moving

import (
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
