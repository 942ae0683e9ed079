package region

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/test/localkube/cluster"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

const (
	// limit is the timeout of each expected change.
	limit        = 5 * time.Minute
	pollInterval = 100 * time.Millisecond
)

// needed lists the program modules that the test needs. make e2e-region builds them.
var needed = []string{"kubernetes", "containerd", "coredns", "directories", "etcd-3.6", "cni", "helm", "versitygw"}

// A place has its own nodes, its own release of the chart, and one namespace that this serves.
type place struct {
	*testing.T
	suite *stack.Stack
	name  string
	nodes []int
}

// places returns the two places. The store is in the west, which is not lost. Each node has its own DNS server.
func places(t *testing.T) (east, west place) {
	t.Helper()
	if os.Getenv("KUBECONFIG") != "" {
		t.Fatal("this test takes nodes of the local Kubernetes away and uses no other: unset KUBECONFIG")
	}
	if err := cluster.Down(t.Context(), cluster.StateDir(), os.Stdout); err != nil {
		t.Fatalf("delete the local Kubernetes of an earlier run: %v", err)
	}
	t.Cleanup(func() { // its nodes are cut off
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := cluster.Down(ctx, cluster.StateDir(), os.Stdout); err != nil {
			t.Errorf("delete the local Kubernetes: %v", err)
		}
	})
	suite, err := stack.Open(t.Context(), os.Stdout, needed...)
	if err != nil {
		t.Fatal(err)
	}
	if err := suite.LoadImages(t.Context()); err != nil {
		t.Fatal(err)
	}
	east, west = place{t, suite, "east", []int{1, 2}}, place{t, suite, "west", []int{3}}
	west.only(east)
	if _, err := suite.StartS3(t.Context()); err != nil {
		t.Fatal(err)
	}
	west.install()
	east.only(west)
	east.install("crds.install=false", "userRoles.create=false")
	return east, west
}

// only lets Kubernetes place new Pods in this place only, as if the other one were another Kubernetes.
func (p place) only(other place) {
	p.Helper()
	for _, node := range p.nodes {
		p.run("uncordon", fmt.Sprintf("node-%d", node))
	}
	for _, node := range other.nodes {
		p.run("cordon", fmt.Sprintf("node-%d", node))
	}
}

// install creates the namespace of users, and installs operators that serve only that one.
func (p place) install(settings ...string) {
	p.Helper()
	p.run("create", "namespace", p.name)
	args := []string{"install", p.name, "charts/etcd-operator", "--namespace", p.name + "-operators", "--create-namespace", "--wait", "--timeout", "3m",
		"--set", "image.tag=" + stack.Tag, "--set", "watchNamespaces={" + p.name + "}"}
	for _, setting := range settings {
		args = append(args, "--set", setting)
	}
	if output, err := p.suite.Helm(p.Context(), args...); err != nil {
		p.Fatalf("install the suite in the %s: %v\n%s", p.name, err, output)
	}
	p.run("apply", "-n", p.name, "-f", "examples/secret-s3.yaml")
}

func (p place) run(args ...string) string {
	p.Helper()
	output, err := p.suite.Kubectl(p.Context(), args...)
	if err != nil {
		p.Fatal(err)
	}
	return output
}

// apply applies a manifest in the namespace of the place.
func (p place) apply(manifest string) {
	p.Helper()
	file := filepath.Join(p.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		p.Fatal(err)
	}
	p.run("apply", "-n", p.name, "-f", file)
}

// until reads an object until a check of it returns no error, and prints how long that took.
func until[T client.Object](p place, about, name string, object T, check func(T) error) T {
	p.Helper()
	var last error
	began := time.Now()
	err := wait.PollUntilContextTimeout(p.Context(), pollInterval, limit, true, func(ctx context.Context) (bool, error) {
		if last = p.suite.Client.Get(ctx, client.ObjectKey{Namespace: p.name, Name: name}, object); last == nil {
			last = check(object)
		}
		return last == nil, nil
	})
	if err != nil {
		output, _ := p.suite.Kubectl(p.Context(), "get", "-n", p.name, "etcdclusters,etcdbackups,etcdrestores,pods,events", "-o", "wide")
		p.Fatalf("%s: this did not happen within %s: %v\n%s", about, limit, last, output)
	}
	p.Logf("%s: after %s", about, time.Since(began).Round(10*time.Millisecond))
	return object
}

// lose disconnects all nodes of the place from everything, also from each other and from the API server.
func (p place) lose() {
	p.Helper()
	for _, node := range p.nodes {
		if err := p.suite.Local.CutNode(p.Context(), node); err != nil {
			p.Fatal(err)
		}
	}
}

// archived returns the manifests of a cluster with a continuous archive.
func archived(name string) string {
	return fmt.Sprintf(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: %[1]s}
spec: {size: 3, version: "3.6.16", TLS: {managed: {}}}
---
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdBackup
metadata: {name: %[1]s}
spec:
  etcdCluster: {name: %[1]s}
  storageType: S3
  s3: {path: %[2]s/archives, awsSecret: s3-credentials, endpoint: "http://s3.object-store.svc:7070", forcePathStyle: true}
  backupPolicy: {schedule: "0 3 * * *"}
  continuous: {maxLag: 1s}
`, name, stack.Bucket)
}

// following returns the manifests of a standby.
func following(name string, source place) string {
	return fmt.Sprintf(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdRestore
metadata: {name: %[1]s}
spec:
  etcdCluster: {name: %[1]s}
  backupStorageType: S3
  s3: {path: %[2]s/archives/%[3]s/%[1]s, awsSecret: s3-credentials, endpoint: "http://s3.object-store.svc:7070", forcePathStyle: true}
  follow: {}
---
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: %[1]s}
spec: {size: 3, version: "3.6.16", TLS: {managed: {}}}
`, name, stack.Bucket, source.name)
}

// promote sets the field that promotes a standby.
func (p place) promote(name, how string) {
	p.Helper()
	p.run("patch", "-n", p.name, "etcdrestore/"+name, "--type=merge", "-p", `{"spec":{"follow":{"promote":"`+how+`"}}}`)
}
