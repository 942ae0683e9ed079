package integration

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// If a spec with as many users and roles as it may have were accepted, and then the status refused because the object is too large, the operator could do
// nothing more for the cluster: it acts on nothing that it cannot record.
func TestTheStatusOfTheLargestSpecOfUsersFits(t *testing.T) {
	t.Parallel()
	c := kubetest.Client(t)
	name := func(kind string, i int) string { return fmt.Sprintf("%s%04d", kind, i) + strings.Repeat("n", 123) }
	auth := &v1beta2.AuthPolicy{Enabled: ptr.To(true)}
	for i := range 250 {
		auth.Roles = append(auth.Roles, v1beta2.AuthRole{Name: name("r", i), Permissions: []v1beta2.AuthPermission{{Prefix: ptr.To(name("/", i)), Access: v1beta2.AccessReadWrite}}})
	}
	for i := range 1500 {
		user := v1beta2.AuthUser{Name: name("u", i), Roles: []string{name("r", i%250)}}
		if i < 50 {
			user.PasswordSecret = "s" + fmt.Sprintf("%04d", i) + strings.Repeat("n", 248)
		}
		auth.Users = append(auth.Users, user)
	}
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: kubetest.Namespace(t), Name: "large"}, Spec: v1beta2.EtcdClusterSpec{Size: 3, Auth: auth}}
	kubetest.Create(t, cluster)
	status := &v1beta2.AuthStatus{Enabled: true, Incarnation: 1}
	for i, u := range auth.Users {
		version := "1/"
		if i < 50 {
			version = "changing 1/" + u.PasswordSecret + "/1234567890"
		}
		status.Users = append(status.Users, v1beta2.AuthUserStatus{Name: u.Name, Version: version})
	}
	for i, r := range auth.Roles {
		status.Roles = append(status.Roles, r.Name)
		status.RemovedRoles = append(status.RemovedRoles, name("x", i), name("y", i))
		status.RemovedUsers = append(status.RemovedUsers, name("x", i), name("y", i))
	}
	for i := range 20 {
		status.OtherUsers, status.OtherRoles = append(status.OtherUsers, name("z", i)), append(status.OtherRoles, name("z", i))
	}
	before := cluster.DeepCopy()
	cluster.Status.Auth = status
	if err := c.Status().Patch(t.Context(), cluster, client.MergeFrom(before)); err != nil {
		t.Fatalf("the status is refused: %v", err)
	}
}
