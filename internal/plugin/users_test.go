package plugin

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// After a restore, a team could not see which users of the snapshot the operator had removed again.
func TestUsersSaysWhatARestoreHadBroughtBack(t *testing.T) {
	c := v1beta2.EtcdCluster{Status: v1beta2.EtcdClusterStatus{Auth: &v1beta2.AuthStatus{AfterRestore: &v1beta2.AuthAfterRestore{
		Incarnation: 2, Added: []string{"role more", "user new"}, Removed: []string{"user web"}, Changed: []string{"role app"},
	}}}}
	want := "After the last restore or recovery, the operator made etcd as the spec says: it added role more, user new; it removed user web; it gave other rights to role app."
	if got := AfterRestore(c); got != want {
		t.Errorf("got %q", got)
	}
	c.Status.Auth.AfterRestore = &v1beta2.AuthAfterRestore{Incarnation: 2, Removed: slices.Repeat([]string{"user u"}, 20)}
	if got := AfterRestore(c); !strings.HasSuffix(got, "user u and possibly more.") {
		t.Errorf("a list that is full looks complete: %q", got)
	}
	c.Status.Auth.AfterRestore = &v1beta2.AuthAfterRestore{Incarnation: 2}
	if got := AfterRestore(c); got != "" {
		t.Errorf("nothing was changed: %q", got)
	}
}
