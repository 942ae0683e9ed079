package upgrade

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

const (
	// limit is the timeout of each expected change. Many clusters change at the same time, on a machine that may have two cores.
	limit        = 5 * time.Minute
	pollInterval = 500 * time.Millisecond
	// example is the name of the EtcdCluster in each namespace.
	example = "example"
)

// A site is one state in a namespace of its own, which has the state's name.
type site struct {
	*testing.T // the running subtest
	state
	// ctx ends with the whole test, and not with a subtest.
	ctx context.Context
	// reached is whether the objects are in the state. Otherwise the rest of the test leaves them out.
	reached bool
	// explained is whether the objects were printed already.
	explained bool
	before    seen
	writer    *writer
	// revision that etcd had when the test last looked.
	revision int64
}

// during runs a part of the test for one site, as a subtest beside those of the others.
func (s *site) during(t *testing.T, part func()) {
	t.Run(s.name, func(t *testing.T) {
		t.Parallel()
		s.T = t
		t.Cleanup(func() {
			if t.Failed() && !s.explained {
				s.explained = true
				s.explain()
			}
		})
		part()
	})
}

// explain prints the objects, events and logs that a person needs to find out why the test failed.
func (s *site) explain() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, args := range [][]string{
		{"get", "-n", s.name, "etcdclusters,etcdbackups,etcdrestores,pods,pvc", "-o", "wide"},
		{"get", "-n", s.name, "etcdclusters,etcdbackups,etcdrestores", "-o", "yaml"},
		{"get", "-n", s.name, "events", "--sort-by=.metadata.creationTimestamp"},
	} {
		output, _ := suite.Kubectl(ctx, args...)
		s.Logf("kubectl %s\n%s", strings.Join(args, " "), output)
	}
}

func (s *site) kubectl(args ...string) string {
	s.Helper()
	output, err := suite.Kubectl(s.ctx, append([]string{"-n", s.name}, args...)...)
	if err != nil {
		s.Fatal(err)
	}
	return output
}

// apply applies manifests with kubectl, as a user does.
func (s *site) apply(manifests ...string) {
	s.Helper()
	for _, manifest := range manifests {
		file := filepath.Join(s.TempDir(), "manifest.yaml")
		if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
			s.Fatal(err)
		}
		s.kubectl("apply", "-f", file)
	}
}

// patch merges JSON into the EtcdCluster.
func (s *site) patch(merge string) {
	s.Helper()
	s.kubectl("patch", "etcdcluster", example, "--type=merge", "-p", merge)
}

// admit lets new members of the namespace run on these nodes, and on no others. Members that run stay where they are.
func (s *site) admit(nodes ...string) {
	s.Helper()
	label := s.nodeLabel()
	set := func(nodes []string, label string) {
		s.kubectl(slices.Concat([]string{"label", "node"}, nodes, []string{label})...)
	}
	set(suite.Local.Nodes(), label+"-")
	if len(nodes) > 0 {
		set(nodes, label+"=yes")
	}
}

func (s *site) admitAll() {
	s.Helper()
	s.admit(suite.Local.Nodes()...)
}

func (s *site) nodeLabel() string { return "upgrade.example.com/" + s.name }

// create creates the EtcdCluster of the namespace and waits until it is Ready. Its members need a node each, with the label of admit.
func (s *site) create(size int, version, more string) *v1beta2.EtcdCluster {
	s.Helper()
	s.apply(fmt.Sprintf(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: {name: %s}
spec:
  size: %d
  version: %q
  recovery: {memberReplacementGrace: 1h}
  pod: {antiAffinity: true, nodeSelector: {%s: "yes"}}
%s
`, example, size, version, s.nodeLabel(), more))
	return s.ready()
}

// eventually calls what until it returns no error. It fails the test after limit.
func (s *site) eventually(about string, what func(ctx context.Context) error) {
	s.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	ticks := time.NewTicker(pollInterval)
	defer ticks.Stop()
	var last error
	for {
		err := what(ctx)
		if err == nil {
			s.Logf("%s: after %s", about, time.Since(began).Round(100*time.Millisecond))
			return
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			s.Fatalf("%s: this did not happen within %s: %v", about, limit, last)
		case <-ticks.C:
		}
	}
}

func get[T client.Object](ctx context.Context, s *site, object T, name string) (T, error) {
	return object, suite.Client.Get(ctx, client.ObjectKey{Namespace: s.name, Name: name}, object)
}

func (s *site) cluster(ctx context.Context) (*v1beta2.EtcdCluster, error) {
	return get(ctx, s, &v1beta2.EtcdCluster{}, example)
}

// conditionsOf returns the conditions of an object of any of the three kinds.
func conditionsOf(object client.Object) []metav1.Condition {
	switch object := object.(type) {
	case *v1beta2.EtcdCluster:
		return object.Status.Conditions
	case *v1beta2.EtcdBackup:
		return object.Status.Conditions
	case *v1beta2.EtcdRestore:
		return object.Status.Conditions
	}
	return nil
}

// reports returns an error unless a condition of the newest generation has one of the reasons. Without reasons it must be True.
func reports(object client.Object, kind string, reasons ...string) error {
	found := meta.FindStatusCondition(conditionsOf(object), kind)
	if found == nil || found.ObservedGeneration != object.GetGeneration() {
		return fmt.Errorf("the status of %s has no condition %s for generation %d yet", object.GetName(), kind, object.GetGeneration())
	}
	if len(reasons) == 0 && found.Status == metav1.ConditionTrue {
		return nil
	}
	for _, reason := range reasons {
		if found.Reason == reason {
			return nil
		}
	}
	return fmt.Errorf("%s of %s is %s: %s: %s", kind, object.GetName(), found.Status, found.Reason, found.Message)
}

// becomes waits until a condition of an object has one of the reasons. Without reasons it waits until the condition is True.
func becomes[T client.Object](s *site, object T, name, kind string, reasons ...string) T {
	s.Helper()
	s.eventually(strings.TrimSpace(fmt.Sprintf("%T %s is %s %s", object, name, kind, strings.Join(reasons, " or "))), func(ctx context.Context) error {
		found, err := get(ctx, s, object, name)
		if err != nil {
			return err
		}
		return reports(found, kind, reasons...)
	})
	return object
}

// ready waits until the EtcdCluster is Ready and returns it.
func (s *site) ready() *v1beta2.EtcdCluster {
	s.Helper()
	return becomes(s, &v1beta2.EtcdCluster{}, example, v1beta2.ConditionReady)
}

// etcd returns a client of the client Service, which the caller closes.
func (s *site) etcd() *clientv3.Client {
	s.Helper()
	cluster, err := s.cluster(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	return s.etcdOf(example, cluster.Status.ClientTLSSecret)
}

func (s *site) etcdOf(cluster, secret string) *clientv3.Client {
	s.Helper()
	var config *tls.Config
	if secret != "" {
		data := s.secret(secret)
		var err error
		if config, err = etcd.TLSConfig(data[v1beta2.ClientCertKey], data[v1beta2.ClientKeyKey], data[v1beta2.ClientCAKey]); err != nil {
			s.Fatal(err)
		}
	}
	connected, err := suite.Etcd(s.ctx, s.name, cluster, config)
	if err != nil {
		s.Fatal(err)
	}
	return connected
}

func (s *site) secret(name string) map[string][]byte {
	s.Helper()
	secret, err := get(s.ctx, s, &corev1.Secret{}, name)
	if err != nil {
		s.Fatal(err)
	}
	return secret.Data
}

func (s *site) pods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := suite.Client.List(ctx, &list, client.InNamespace(s.name), client.MatchingLabels{v1beta2.LabelApp: v1beta2.AppName})
	return list.Items, err
}

// stored is the part of a manifest that names an object of the S3 server.
func (s *site) stored(name string) string {
	return fmt.Sprintf(`{path: %q, awsSecret: s3-credentials, endpoint: "http://s3.object-store.svc:7070", forcePathStyle: true}`, stack.Bucket+"/"+s.name+"/"+name)
}

// backup applies an EtcdBackup of the cluster.
func (s *site) backup(name, more string) {
	s.Helper()
	s.kubectl("apply", "-f", "examples/secret-s3.yaml")
	s.apply(fmt.Sprintf(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdBackup
metadata: {name: %s}
spec:
  etcdCluster: {name: %s}
  storageType: S3
  s3: %s
%s
`, name, example, s.stored(name), more))
}

// saved takes a snapshot of the cluster.
func (s *site) saved() {
	s.Helper()
	s.backup("saved", "")
	becomes(s, &v1beta2.EtcdBackup{}, "saved", v1beta2.ConditionComplete)
}

// restore applies an EtcdRestore of an EtcdBackup.
func (s *site) restore(name, cluster, backup, more string) {
	s.Helper()
	s.apply(fmt.Sprintf(`
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdRestore
metadata: {name: %s}
spec:
  etcdCluster: {name: %s}
  etcdBackup: {name: %s}
%s
`, name, cluster, backup, more))
}
