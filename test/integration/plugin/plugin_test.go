// Package plugin tests the commands of kubectl etcd against a real kube-apiserver.
package plugin

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli"
	"github.com/etcd-suite/etcd-operator/internal/plugin/cli/session"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestCommands(t *testing.T) {
	namespace := kubetest.Namespace(t)
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "example"}, Spec: v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16"}}
	kubetest.Create(t, cluster)
	cluster.Status = v1beta2.EtcdClusterStatus{CurrentVersion: "3.6.16", ReadyMembers: "3/3", ClusterID: "0123456789abcdef",
		MemberStatuses: []v1beta2.MemberStatus{{Name: "example-a", Role: v1beta2.MemberLeader, Version: "3.6.16", Ready: true}}}
	saveStatus(t, cluster)
	run := runner(t, namespace)

	t.Run("nothing is written without a terminal and without --yes", func(t *testing.T) {
		for _, command := range []string{"hibernate", "wake", "pause", "resume", "move-leader", "defrag", "upgrade", "replace", "backup"} {
			args := []string{command, "example"}
			if command == "upgrade" {
				args = append(args, "3.7.3")
			}
			if command == "replace" {
				args = append(args, "example-a")
			}
			if command == "backup" {
				args = append(args, "--storage", "S3", "--path", "bucket/key")
			}
			if _, err := run(args...); err == nil || !strings.Contains(err.Error(), "Nothing was changed") {
				t.Errorf("%s: %v", command, err)
			}
		}
		before := cluster.ResourceVersion
		read(t, cluster)
		if cluster.ResourceVersion != before {
			t.Error("the EtcdCluster was changed")
		}
	})
	t.Run("fields and annotations are set", func(t *testing.T) {
		for _, args := range [][]string{{"pause", "example"}, {"hibernate", "example"}, {"move-leader", "example"}, {"replace", "example", "example-a"}} {
			if _, err := run(append(args, "--yes", "--wait=false")...); err != nil {
				t.Fatal(err)
			}
		}
		read(t, cluster)
		if !cluster.Spec.Paused || !cluster.Spec.Hibernate || cluster.Annotations[v1beta2.AnnotationMoveLeader] != "example-a" || cluster.Annotations[v1beta2.AnnotationReplace] != "example-a" {
			t.Error(kubetest.YAML(cluster))
		}
		for _, command := range []string{"resume", "wake"} {
			if _, err := run(command, "example", "--yes", "--wait=false"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := run("upgrade", "example", "3.7.3", "--yes", "--wait=false"); err != nil {
			t.Fatal(err)
		}
		read(t, cluster)
		if cluster.Spec.Paused || cluster.Spec.Hibernate || cluster.Spec.Version != "3.7.3" {
			t.Error(kubetest.YAML(cluster))
		}
	})
	t.Run("hibernate takes a snapshot before it stops the members", func(t *testing.T) { hibernateWithSnapshot(t, cluster, run) })
	t.Run("backup, snapshots and restore", func(t *testing.T) { backUpAndRestore(t, namespace, run) })
	t.Run("status names the operator that does not run", func(t *testing.T) {
		out, err := run("status")
		if err != nil || !strings.Contains(out, "No operator has read the object") {
			t.Errorf("%v\n%s", err, out)
		}
		if out, err := run("status", "-o", "json"); err != nil || !strings.HasPrefix(out, "{") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("report has a bundle and no second one over it", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "report.tar.gz")
		if _, err := run("report", "--file", file); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Size() < 200 || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info, err)
		}
		if _, err := run("report", "--file", file); err == nil {
			t.Error("the file was overwritten")
		}
	})
}

// Without the wait, the volumes alone would hold the last writes while the cluster sleeps.
func hibernateWithSnapshot(t *testing.T, cluster *v1beta2.EtcdCluster, run func(...string) (string, error)) {
	hibernate := []string{"hibernate", cluster.Name, "--snapshot", "--yes", "--wait=false", "--timeout=3s"}
	if _, err := run(hibernate...); err == nil || !strings.Contains(err.Error(), "was not changed") {
		t.Errorf("without a series: %v", err)
	}
	b := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: "hourly"}}
	b.Spec.EtcdCluster = &v1beta2.ClusterReference{Name: cluster.Name}
	b.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: "0 * * * *"}
	b.Spec.StorageType, b.Spec.S3 = v1beta2.StorageS3, &v1beta2.S3Source{Path: "bucket/folder"}
	kubetest.Create(t, b)
	defer func() { _ = kubetest.Client(t).Delete(t.Context(), b) }()
	if _, err := run(hibernate...); err == nil || !strings.Contains(err.Error(), "its members run") {
		t.Errorf("without a snapshot: %v", err)
	}
	if read(t, cluster); cluster.Spec.Hibernate {
		t.Fatal("the members are stopped, and there is no snapshot")
	}
	read(t, b)
	b.Status = v1beta2.EtcdBackupStatus{HandledRequest: b.Annotations[v1beta2.AnnotationBackupNow], Snapshot: &v1beta2.Snapshot{Path: "bucket/folder/x.db"}}
	saveStatus(t, b)
	if out, err := run(hibernate...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if read(t, cluster); !cluster.Spec.Hibernate {
		t.Error("the cluster does not hibernate")
	}
	if _, err := run("wake", cluster.Name, "--yes", "--wait=false"); err != nil {
		t.Error(err)
	}
}

func backUpAndRestore(t *testing.T, namespace string, run func(...string) (string, error)) {
	if _, err := run("backup", "example", "--storage", "S3", "--path", "bucket/one.db", "--yes", "--wait=false"); err != nil {
		t.Fatal(err)
	}
	b := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "example-20261123-120000"}}
	read(t, b)
	taken := metav1.NewTime(time.Date(2026, 11, 23, 11, 0, 0, 0, time.UTC))
	s := v1beta2.Snapshot{Path: "bucket/one.db", Revision: 7, Size: 1 << 20, SHA256: strings.Repeat("a", 64), CreatedAt: "2026-11-23T11:00:00Z"}
	b.Status = v1beta2.EtcdBackupStatus{Snapshot: &s, Snapshots: []v1beta2.Snapshot{s}, Recoverable: []v1beta2.RecoverableRange{{
		From: v1beta2.RecoverablePoint{Revision: 7, Time: taken}, To: v1beta2.RecoverablePoint{Revision: 90, Time: metav1.NewTime(taken.Add(50 * time.Minute))}, Timeline: 1,
	}}}
	saveStatus(t, b)
	if out, err := run("snapshots", "example"); err != nil || !strings.Contains(out, "one.db") {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := run("restore", "example"); err == nil || !strings.Contains(out, "lost        ") {
		t.Errorf("the loss is not shown before the question: %v\n%s", err, out)
	}
	if out, err := run("snapshots", "example", "--verify"); err == nil || !strings.Contains(err.Error(), "Nothing was changed") {
		t.Errorf("a snapshot is verified without --yes: %v\n%s", err, out)
	}
	out, err := run("restore", "example", "--yes", "--wait=false")
	if err != nil || !strings.Contains(out, "lost        ") {
		t.Fatalf("%v\n%s", err, out)
	}
	r := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "example-20261123-120000"}}
	read(t, r)
	if r.Spec.Replaces != "0123456789abcdef" || r.Spec.EtcdBackup.Snapshot != "bucket/one.db" || r.Spec.DryRun {
		t.Error(kubetest.YAML(r))
	}
	if err := kubetest.Client(t).Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	kubetest.AwaitGone(t, r)
	restorePoints(t, namespace, run)
	if _, err := run("snapshots", "example", "--verify", "--yes", "--wait=false"); err != nil {
		t.Fatal(err)
	}
	r = &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "example-20261123-120000"}}
	if read(t, r); !r.Spec.DryRun || r.Spec.EtcdBackup.Snapshot != "bucket/one.db" {
		t.Error(kubetest.YAML(r))
	}
}

// restorePoints restores a revision and a second of a continuous archive.
func restorePoints(t *testing.T, namespace string, run func(...string) (string, error)) {
	t.Helper()
	for _, refused := range [][]string{{"--revision", "6"}, {"--time", "2026-11-23T10:59:59Z"}, {"--time", "09:14"}, {"--revision", "8", "--time", "2026-11-23T11:14:02Z"}} {
		if out, err := run(append([]string{"restore", "example", "--yes", "--wait=false"}, refused...)...); err == nil {
			t.Errorf("%q is not refused:\n%s", refused, out)
		}
	}
	for _, accepted := range [][]string{{"--revision", "8"}, {"--time", "2026-11-23T11:14:02Z"}} {
		if out, err := run(append([]string{"restore", "example"}, accepted...)...); err == nil || !strings.Contains(out, "lost        ") {
			t.Errorf("%q: the loss is not shown before the question: %v\n%s", accepted, err, out)
		}
		if out, err := run(append([]string{"restore", "example", "--yes", "--wait=false", "--dry-run"}, accepted...)...); err != nil {
			t.Fatalf("%q: %v\n%s", accepted, err, out)
		}
		r := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "example-20261123-120000"}}
		read(t, r)
		if r.Spec.Replaces != "0123456789abcdef" || !r.Spec.DryRun || r.Spec.Select == nil || (r.Spec.Select.Revision == 8) != (accepted[0] == "--revision") {
			t.Error(kubetest.YAML(r))
		}
		if err := kubetest.Client(t).Delete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		kubetest.AwaitGone(t, r)
	}
}

// runner returns a function that runs a command in the namespace, without a terminal.
func runner(t *testing.T, namespace string) func(...string) (string, error) {
	config := kubeconfig(t, kubetest.Config(t))
	return func(args ...string) (string, error) {
		var out strings.Builder
		root := cli.New(session.IO{In: strings.NewReader(""), Out: &out, Err: io.Discard, Now: func() time.Time { return now }}, "test")
		root.SetArgs(append(args, "--kubeconfig", config, "--namespace", namespace))
		err := root.ExecuteContext(t.Context())
		return out.String(), err
	}
}

func kubeconfig(t *testing.T, c *rest.Config) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters["a"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData, CertificateAuthority: c.CAFile, InsecureSkipTLSVerify: c.Insecure}
	config.AuthInfos["a"] = &clientcmdapi.AuthInfo{ClientCertificateData: c.CertData, ClientKeyData: c.KeyData, ClientCertificate: c.CertFile, ClientKey: c.KeyFile, Token: c.BearerToken}
	config.Contexts["a"] = &clientcmdapi.Context{Cluster: "a", AuthInfo: "a"}
	config.CurrentContext = "a"
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

func saveStatus(t *testing.T, object client.Object) {
	t.Helper()
	if err := kubetest.Client(t).Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, object client.Object) {
	t.Helper()
	if err := kubetest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
}
