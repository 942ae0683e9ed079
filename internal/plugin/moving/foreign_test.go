package moving

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// A tenant wrote the URL of a server of his own into an EtcdBackup, and the name of a Secret of the namespace that an administrator moved the cluster to.
func TestASecretIsNotUsedForAServerThatAnotherNamespaceNames(t *testing.T) {
	for name, c := range map[string]struct {
		namespace, server, secret, named string
		used                             bool
	}{
		"a server of another namespace":  {"old", "https://theirs", "s3", "", false},
		"another server than was named":  {"old", "https://theirs", "s3", "https://ours", false},
		"the server that the user names": {"old", "https://theirs", "s3", "https://theirs", true},
		"that of the provider":           {"old", "", "s3", "", true},
		"in the same namespace":          {"new", "https://theirs", "s3", "", true},
		"without a Secret":               {"old", "https://theirs", "", "", true},
	} {
		r := Request{Namespace: "new", Name: "example", Archive: &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "b"}}}
		r.Archive.Spec.S3 = &v1beta2.S3Source{Path: "bucket/a", Endpoint: c.server, AWSSecret: c.secret}
		r.Store.Endpoint = c.named
		if why := r.StrangeStore(); (why == "") != c.used || !c.used && !strings.Contains(why, "--endpoint "+c.server) {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// Two people run the command, or somebody deletes the EtcdBackup. The command waited until its limit, and reported that it had called off what was over.
func TestASwitchoverThatSomebodyElseEndsIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		change func(o *Objects)
		want   string
	}{
		"it continues":         {func(*Objects) {}, ""},
		"it was called off":    {func(o *Objects) { o.Backup.Spec.Continuous.Switchover = false }, "called the switchover off"},
		"it is being deleted":  {func(o *Objects) { o.Backup.DeletionTimestamp = &metav1.Time{} }, "is being deleted"},
		"it was deleted":       {func(o *Objects) { o.Backup = nil }, "was deleted"},
		"it has succeeded":     {func(o *Objects) { *o = promoted(*o); o.Backup.Spec.Continuous.Switchover = false }, ""},
		"the source was first": {func(o *Objects) { *o = promoted(*o); o.Backup = nil }, ""},
	} {
		o := switching(ready(), v1beta2.SwitchoverFencing)
		c.change(&o)
		if got := Withdrawn(o); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
