package plugin

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

const secret = "hunter2"

func TestReportHasNoSecret(t *testing.T) {
	namespace := kubetest.Namespace(t)
	createWithSecrets(t, namespace)
	file := filepath.Join(t.TempDir(), "report.tar.gz")
	if _, err := runner(t, namespace)("report", "example", "--file", file); err != nil {
		t.Fatal(err)
	}
	files := bundle(t, file)
	for name, text := range files {
		if strings.Contains(text, secret) || strings.Contains(text, "aHVudGVyMg") {
			t.Errorf("%s has a secret:\n%s", name, text)
		}
	}
	if !strings.Contains(files["pods.yaml"], "--key-file=/etc/etcd/server.key") || len(files) < 7 {
		t.Errorf("the bundle of %d files lacks what a reader needs:\n%s", len(files), files["pods.yaml"])
	}
}

func createWithSecrets(t *testing.T, namespace string) {
	t.Helper()
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "example", Annotations: map[string]string{
		"kubectl.kubernetes.io/last-applied-configuration": `{"password":"` + secret + `"}`,
	}}, Spec: v1beta2.EtcdClusterSpec{Size: 1, Version: "3.6.16"}}
	tls := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "example-server-tls"}, StringData: map[string]string{"server.key": secret}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "example-a", Labels: map[string]string{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: "example"}}}
	pod.Spec.Containers = []corev1.Container{{
		Name: "etcd", Image: "etcd", Command: []string{"etcd", "--key-file=/etc/etcd/server.key"},
		Env: []corev1.EnvVar{{Name: "ETCD_AUTH_TOKEN", Value: secret}, {Name: "S3_SECRET", Value: secret}},
	}, {Name: "beside", Image: "beside", Args: []string{"--password", secret, "https://root:" + secret + "@example.com"}}}
	kubetest.Create(t, cluster, tls, pod)
}

// bundle returns the files of a report by their names.
func bundle(t *testing.T, file string) map[string]string {
	t.Helper()
	raw, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	zipped, err := gzip.NewReader(raw)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(zipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(text)
	}
}
