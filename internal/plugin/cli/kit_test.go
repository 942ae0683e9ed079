package cli

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corefake "k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
)

var update = flag.Bool("update", false, "write the screens in testdata")

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// A kit is the plugin beside a Kubernetes of a test.
type kit struct {
	*session.Session
	out, err strings.Builder
}

// kitOf returns a plugin that sees the objects, in the namespace ns. Those of the core group are read by the other client, too.
func kitOf(t *testing.T, objects ...client.Object) *kit {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, v1beta2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	all := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1beta2.EtcdCluster{}, &v1beta2.EtcdBackup{}, &v1beta2.EtcdRestore{}).Build()
	k := &kit{}
	k.Session = session.New(session.IO{In: strings.NewReader(""), Out: &k.out, Err: &k.err, Width: 100, Now: func() time.Time { return now }})
	k.Known = &session.World{Client: all, Core: corefake.NewClientset(coreOnly(objects)...), Namespace: "ns"}
	return k
}

// coreOnly returns the objects that are not of the suite.
func coreOnly(all []client.Object) []runtime.Object {
	var found []runtime.Object
	for _, object := range all {
		switch object.(type) {
		case *v1beta2.EtcdCluster, *v1beta2.EtcdBackup, *v1beta2.EtcdRestore:
		default:
			found = append(found, object)
		}
	}
	return found
}

// run runs a command, and returns what it printed to the standard output.
func (k *kit) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	k.out.Reset()
	k.err.Reset()
	root := command(k.Session, "1.2.3")
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return k.out.String(), err
}

// must is run for a command that succeeds.
func (k *kit) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := k.run(t, args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return out
}

// screen compares what a command prints with the file of testdata.
func screen(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it):\n%s", file, diff)
	}
}

// example is a cluster of three members that serves.
func example() *v1beta2.EtcdCluster {
	c := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example", Generation: 1}}
	c.Spec = v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16", TLS: &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}}
	c.Status = v1beta2.EtcdClusterStatus{
		ObservedGeneration: 1, ReadyMembers: "3/3", CurrentVersion: "3.6.16", ClusterID: "0123456789abcdef",
		Conditions: []metav1.Condition{
			{Type: "Ready", Status: "True", Reason: "Ready", LastTransitionTime: metav1.NewTime(now)},
			{Type: "Available", Status: "True", Reason: "Ready", LastTransitionTime: metav1.NewTime(now)},
		},
	}
	for i, name := range []string{"example-a", "example-b", "example-c"} {
		role := v1beta2.MemberVoter
		if i == 0 {
			role = v1beta2.MemberLeader
		}
		c.Status.MemberStatuses = append(c.Status.MemberStatuses, v1beta2.MemberStatus{Name: name, Role: role, Version: "3.6.16", Ready: true})
	}
	return c
}

// hourly is a series of the cluster, with one snapshot.
func hourly() *v1beta2.EtcdBackup {
	b := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "hourly"}}
	b.Spec.EtcdCluster = &v1beta2.ClusterReference{Name: "example"}
	b.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: "@hourly"}
	b.Spec.StorageType, b.Spec.S3 = v1beta2.StorageS3, &v1beta2.S3Source{Path: "bucket/folder", AWSSecret: "s3"}
	s := v1beta2.Snapshot{Path: "bucket/folder/ns/example/x/20261123T110000Z-480.db", Revision: 480, Keys: 98, Size: 20 << 20, CreatedAt: "2026-11-23T11:00:00Z", ClusterID: "0123456789abcdef"}
	b.Status = v1beta2.EtcdBackupStatus{Snapshot: &s, Snapshots: []v1beta2.Snapshot{s}, Conditions: []metav1.Condition{
		{Type: "Ready", Status: "True", Reason: "Scheduled", LastTransitionTime: metav1.NewTime(now)},
	}}
	return b
}

// podOf is a member's Pod that is ready.
func podOf(name string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: "example"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "etcd", Command: []string{"etcd", "--key-file=/etc/etcd/server.key", "--advertise-client-urls=https://" + name + ".example.ns.svc:2379"}}}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	return pod
}
