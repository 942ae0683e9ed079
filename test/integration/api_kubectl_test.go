package integration

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

func TestKubectlFindsEachKindByItsNames(t *testing.T) {
	namespace := createOneOfEach(t)
	const group = ".etcd.database.coreos.com/example"
	for word, want := range map[string]string{
		// kubectl prefers a category to a short name. With a category etcd, "kubectl delete etcd example" would delete the
		// backups, too.
		"etcd":          "etcdcluster" + group,
		"etcdcluster":   "etcdcluster" + group,
		"etcdbackup":    "etcdbackup" + group,
		"etcdb":         "etcdbackup" + group,
		"etcdr":         "etcdrestore" + group,
		"etcdrestore":   "etcdrestore" + group,
		"etcd-operator": "etcdbackup" + group + " etcdcluster" + group + " etcdrestore" + group,
	} {
		t.Run("kubectl get "+word, func(t *testing.T) {
			got := strings.Join(strings.Fields(kubetest.MustKubectl(t, "", "get", word, "-n", namespace, "-o", "name")), " ")
			if got != want {
				t.Errorf("kubectl found the objects %q, want %q", got, want)
			}
		})
	}
}

func TestKubectlGetShowsTheStatus(t *testing.T) {
	namespace := createOneOfEach(t)
	for kind, want := range map[string]string{
		"etcdclusters.etcd.database.coreos.com": `NAME READY VERSION STATUS AGE AVAILABLE MESSAGE MEMBER URL CLUSTER ID
example <age>`,
		"etcdbackups": `NAME CLUSTER SCHEDULE SUSPENDED STATUS NEWEST SIZE AGE COMPLETE REVISION PROGRESS NEXT VERIFIED ARCHIVING PATH MESSAGE
example example <age>`,
		"etcdrestores": `NAME CLUSTER STATUS COMPLETE PERCENT REVISION FOLLOWED LAG AGE PATH MESSAGE`,
	} {
		t.Run("kubectl get "+kind+" of a new object", func(t *testing.T) {
			wantTable(t, namespace, kind, want)
		})
	}
	writeStatuses(t, namespace)
	for kind, want := range map[string]string{
		"etcdclusters.etcd.database.coreos.com": `example 2/3 3.6.15 MemberDown <age> True one member is down http://example-a.example.ns.svc:2379 0123456789abcdef`,
		"etcdbackups":                           `example example Complete <age> 20.0 KiB <age> True 42 bucket/key taken`,
		"etcdrestores":                          `example example Seeding False 42 <age> bucket/key the seed starts`,
	} {
		t.Run("kubectl get "+kind+" of an object with a status", func(t *testing.T) {
			wantTable(t, namespace, kind, want)
		})
	}
}

var (
	spaces = regexp.MustCompile(` +`)
	ages   = regexp.MustCompile(`\b(\d+[smh])+( |$)`)
)

// wantTable checks that the output of kubectl contains want, after every age is replaced with <age>.
func wantTable(t *testing.T, namespace, kind, want string) {
	t.Helper()
	got := kubetest.MustKubectl(t, "", "get", kind, "-n", namespace, "-o", "wide")
	lines := strings.Split(got, "\n")
	for i, line := range lines {
		lines[i] = ages.ReplaceAllString(spaces.ReplaceAllString(strings.TrimSpace(line), " "), "<age>$2")
	}
	if !regexp.MustCompile(want).MatchString(strings.Join(lines, "\n")) {
		t.Errorf("kubectl printed\n%s\nwant\n%s", strings.Join(lines, "\n"), want)
	}
}

func writeStatuses(t *testing.T, namespace string) {
	t.Helper()
	key := metav1.ObjectMeta{Namespace: namespace, Name: "example"}
	cluster := &v1beta2.EtcdCluster{ObjectMeta: key, Status: v1beta2.EtcdClusterStatus{
		Size: 2, ReadyMembers: "2/3", CurrentVersion: "3.6.15", ClusterID: "0123456789abcdef",
		MemberStatuses: []v1beta2.MemberStatus{{Name: "example-a", ClientURL: "http://example-a.example.ns.svc:2379"}}, Conditions: []metav1.Condition{
			condition(v1beta2.ConditionAvailable, metav1.ConditionTrue, v1beta2.ReasonReady, "clients are served"),
			condition(v1beta2.ConditionReady, metav1.ConditionFalse, v1beta2.ReasonMemberDown, "one member is down"),
		},
	}}
	snapshot := &v1beta2.Snapshot{Path: "bucket/key", Revision: 42, Size: 20480, SHA256: strings.Repeat("0", 64)}
	date := metav1.NewTime(time.Now().Add(-time.Minute))
	backup := &v1beta2.EtcdBackup{ObjectMeta: key, Status: v1beta2.EtcdBackupStatus{
		EtcdRevision: 42, LastSuccessDate: &date, Snapshot: snapshot, SnapshotSize: "20.0 KiB", Conditions: []metav1.Condition{
			condition(v1beta2.ConditionComplete, metav1.ConditionTrue, v1beta2.ReasonComplete, "taken"),
			condition(v1beta2.ConditionReady, metav1.ConditionTrue, v1beta2.ReasonComplete, "taken"),
		},
	}}
	restore := &v1beta2.EtcdRestore{ObjectMeta: key, Status: v1beta2.EtcdRestoreStatus{
		Snapshot: snapshot, Conditions: []metav1.Condition{
			condition(v1beta2.ConditionComplete, metav1.ConditionFalse, v1beta2.ReasonSeeding, "the seed starts"),
			condition(v1beta2.ConditionReady, metav1.ConditionFalse, v1beta2.ReasonSeeding, "the seed starts"),
		},
	}}
	for _, object := range []client.Object{cluster, backup, restore} {
		if err := kubetest.Client(t).Status().Patch(t.Context(), object, statusOf(object)); err != nil {
			t.Fatal(err)
		}
	}
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now()}
}

// statusOf returns a patch that writes the whole status of object.
func statusOf(object client.Object) client.Patch {
	bare := object.DeepCopyObject().(client.Object)
	switch bare := bare.(type) {
	case *v1beta2.EtcdCluster:
		bare.Status = v1beta2.EtcdClusterStatus{}
	case *v1beta2.EtcdBackup:
		bare.Status = v1beta2.EtcdBackupStatus{}
	case *v1beta2.EtcdRestore:
		bare.Status = v1beta2.EtcdRestoreStatus{}
	}
	return client.MergeFrom(bare)
}

func TestUnknownFieldsAreReportedOrPruned(t *testing.T) {
	manifest := func(namespace string) string {
		return `{apiVersion: etcd.database.coreos.com/v1beta2, kind: EtcdCluster, metadata: {name: example, namespace: ` + namespace + `},
  spec: {size: 3, replicas: 5, pod: {image: x}}}`
	}
	t.Run("kubectl apply reports unknown fields", func(t *testing.T) {
		_, err := kubetest.Kubectl(t, manifest(kubetest.Namespace(t)), "apply", "-f", "-")
		for _, want := range []string{`unknown field "spec.replicas"`, `unknown field "spec.pod.image"`} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		}
	})
	t.Run("the server prunes unknown fields for a client that does not validate", func(t *testing.T) {
		namespace := kubetest.Namespace(t)
		kubetest.MustKubectl(t, manifest(namespace), "apply", "--validate=ignore", "-f", "-")
		got := kubetest.MustKubectl(t, "", "get", "etcdcluster/example", "-n", namespace, "-o", "jsonpath={.spec.size}{.spec.replicas}{.spec.pod}")
		if want := "3{}"; got != want {
			t.Errorf("the stored spec is %s, want %s", got, want)
		}
	})
}

// kubectl apply stores the object in one of its annotations. Annotations are limited
// to 262144 bytes, and a CRD can be larger.
func TestCRDsCanBeAppliedWithKubectl(t *testing.T) {
	for name, flag := range map[string]string{"client-side apply": "--server-side=false", "server-side apply": "--server-side=true"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(kubetest.Root(t), kubetest.CRDs)
			kubetest.MustKubectl(t, "", "apply", flag, "--force-conflicts="+flag[len("--server-side="):], "-f", dir)
		})
	}
}
