package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

const (
	// limit is the timeout of each expected change. On an idle machine a change takes seconds.
	limit        = 3 * time.Minute
	pollInterval = 200 * time.Millisecond
)

// namespaced is one test's namespace.
type namespaced struct {
	*testing.T
	name string
	// restarts of the operators before the test.
	restarts map[string]int32
	failures failures
}

// failures are the messages of a test that fails. They stand before hundreds of lines of logs, which may be all that a CI system shows, so
// the test repeats them at its end.
type failures struct {
	sync.Mutex
	messages []string
}

func (f *failures) add(message string) {
	f.Lock()
	defer f.Unlock()
	f.messages = append(f.messages, message)
}

func (n *namespaced) Errorf(format string, args ...any) {
	n.Helper()
	n.failures.add(fmt.Sprintf(format, args...))
	n.T.Errorf(format, args...)
}

func (n *namespaced) Fatalf(format string, args ...any) {
	n.Helper()
	n.failures.add(fmt.Sprintf(format, args...))
	n.T.Fatalf(format, args...)
}

func (n *namespaced) Fatal(args ...any) {
	n.Helper()
	n.failures.add(fmt.Sprint(args...))
	n.T.Fatal(args...)
}

// begin creates a namespace for the test and deletes it when the test ends. If the test fails, it first prints the state
// of the namespace.
func begin(t *testing.T) *namespaced {
	t.Helper()
	n := &namespaced{T: t}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-",
		// The strictest Pod security standard.
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := suite.Client.Create(t.Context(), namespace); err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	n.name = namespace.Name
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if t.Failed() {
			n.explain(ctx)
			n.Logf("the test failed:\n%s", strings.Join(n.failures.messages, "\n"))
		}
		if err := suite.Client.Delete(ctx, namespace); err != nil {
			t.Errorf("delete the namespace: %v", err)
		}
	})
	n.restarts = n.operatorRestarts()
	return n
}

// explain prints the objects, events and logs that a person needs to find out why the test failed.
func (n *namespaced) explain(ctx context.Context) {
	for _, args := range [][]string{
		{"get", "-n", n.name, "etcdclusters,etcdbackups,etcdrestores,pods,pvc", "-o", "wide"},
		{"get", "-n", n.name, "etcdclusters,etcdbackups,etcdrestores", "-o", "yaml"},
		{"get", "-n", n.name, "events", "--sort-by=.metadata.creationTimestamp"},
	} {
		output, _ := suite.Kubectl(ctx, args...)
		n.Logf("kubectl %s\n%s", strings.Join(args, " "), output)
	}
	pods, _ := suite.Kubectl(ctx, "get", "-n", n.name, "pods", "-o", "name")
	for _, pod := range strings.Fields(pods) {
		output, _ := suite.Kubectl(ctx, "logs", "-n", n.name, pod, "--all-containers", "--prefix", "--tail=30")
		n.Logf("kubectl logs %s\n%s", pod, output)
	}
}

// apply applies manifests with kubectl, as a user does.
func (n *namespaced) apply(manifests ...string) {
	n.Helper()
	for _, manifest := range manifests {
		file := filepath.Join(n.TempDir(), "manifest.yaml")
		if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
			n.Fatal(err)
		}
		n.kubectl("apply", "-f", file)
	}
}

// applyFile applies files of the repository unchanged.
func (n *namespaced) applyFile(files ...string) {
	n.Helper()
	for _, file := range files {
		n.kubectl("apply", "-f", file)
	}
}

func (n *namespaced) kubectl(args ...string) string {
	n.Helper()
	output, err := suite.Kubectl(n.Context(), append([]string{"-n", n.name}, args...)...)
	if err != nil {
		n.Fatal(err)
	}
	return output
}

// eventually calls what until it returns no error. It fails the test after limit.
func (n *namespaced) eventually(about string, what func(ctx context.Context) error) {
	n.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(n.Context(), limit)
	defer cancel()
	ticks := time.NewTicker(pollInterval)
	defer ticks.Stop()
	var last error
	for {
		err := what(ctx)
		if err == nil {
			n.Logf("%s: after %s", about, time.Since(began).Round(100*time.Millisecond))
			return
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			n.Fatalf("%s: this did not happen within %s: %v", about, limit, last)
		case <-ticks.C:
		}
	}
}

// conditioned is any of the suite's three kinds.
type conditioned interface {
	client.Object
	*v1beta2.EtcdCluster | *v1beta2.EtcdBackup | *v1beta2.EtcdRestore
}

// condition reads an object and returns one of its conditions. The condition must be about the newest generation.
func condition[T conditioned](ctx context.Context, n *namespaced, object T, name, kind string) (*metav1.Condition, error) {
	if err := suite.Client.Get(ctx, client.ObjectKey{Namespace: n.name, Name: name}, object); err != nil {
		return nil, err
	}
	var conditions []metav1.Condition
	switch object := any(object).(type) {
	case *v1beta2.EtcdCluster:
		conditions = object.Status.Conditions
	case *v1beta2.EtcdBackup:
		conditions = object.Status.Conditions
	case *v1beta2.EtcdRestore:
		conditions = object.Status.Conditions
	}
	found := meta.FindStatusCondition(conditions, kind)
	if found == nil || found.ObservedGeneration != object.GetGeneration() {
		return nil, fmt.Errorf("the status has no condition %s for generation %d yet", kind, object.GetGeneration())
	}
	return found, nil
}

// becomes waits until a condition is True and returns the object.
func becomes[T conditioned](n *namespaced, object T, name, kind string) T {
	n.Helper()
	n.eventually(fmt.Sprintf("%T %s is %s", object, name, kind), func(ctx context.Context) error {
		found, err := condition(ctx, n, object, name, kind)
		if err != nil {
			return err
		}
		if found.Status != metav1.ConditionTrue {
			return fmt.Errorf("%s is %s: %s: %s", kind, found.Status, found.Reason, found.Message)
		}
		return nil
	})
	return object
}

// says waits until a condition has the reason and a message that contains all of the words.
func says[T conditioned](n *namespaced, object T, name, kind, reason string, words ...string) T {
	n.Helper()
	n.eventually(fmt.Sprintf("%T %s reports %s", object, name, reason), func(ctx context.Context) error {
		found, err := condition(ctx, n, object, name, kind)
		if err != nil {
			return err
		}
		if found.Reason != reason {
			return fmt.Errorf("%s is %s: %s: %s", kind, found.Status, found.Reason, found.Message)
		}
		for _, word := range words {
			if !strings.Contains(found.Message, word) {
				return fmt.Errorf("the message %q does not contain %q", found.Message, word)
			}
		}
		return nil
	})
	return object
}

// ready waits until an EtcdCluster is Ready and returns it.
func (n *namespaced) ready(name string) *v1beta2.EtcdCluster {
	n.Helper()
	return becomes(n, &v1beta2.EtcdCluster{}, name, v1beta2.ConditionReady)
}

// etcd returns a client of the cluster's client Service.
func (n *namespaced) etcd(cluster string, config *tls.Config) *clientv3.Client {
	n.Helper()
	etcd, err := suite.Etcd(n.Context(), n.name, cluster, config)
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() { _ = etcd.Close() })
	return etcd
}

// put writes the keys prefix-0 to prefix-(count-1). Each value equals its key.
func (n *namespaced) put(etcd *clientv3.Client, prefix string, count int) {
	n.Helper()
	for i := range count {
		name := fmt.Sprintf("%s-%d", prefix, i)
		n.eventuallyQuiet(func(ctx context.Context) error {
			_, err := etcd.Put(ctx, name, name)
			return err
		})
	}
}

// eventuallyQuiet retries a request that etcd may refuse while it has no leader. It logs nothing.
func (n *namespaced) eventuallyQuiet(what func(ctx context.Context) error) {
	n.Helper()
	for began := time.Now(); ; {
		ctx, cancel := context.WithTimeout(n.Context(), 5*time.Second)
		err := what(ctx)
		cancel()
		if err == nil {
			return
		}
		if time.Since(began) > limit {
			n.Fatal(err)
		}
	}
}

// has checks that exactly the keys of put exist with this prefix.
func (n *namespaced) has(etcd *clientv3.Client, prefix string, count int) {
	n.Helper()
	var response *clientv3.GetResponse
	n.eventuallyQuiet(func(ctx context.Context) (err error) {
		response, err = etcd.Get(ctx, prefix+"-", clientv3.WithPrefix())
		return err
	})
	found := map[string]string{}
	for _, kv := range response.Kvs {
		found[string(kv.Key)] = string(kv.Value)
	}
	for i := range count {
		if name := fmt.Sprintf("%s-%d", prefix, i); found[name] != name {
			n.Errorf("key %s has the value %q, expected %q", name, found[name], name)
		}
	}
	if len(found) != count {
		n.Errorf("%d keys have the prefix %s-, expected %d", len(found), prefix, count)
	}
}

// pods returns the Pods of a cluster by name.
func (n *namespaced) pods(cluster string) map[string]corev1.Pod {
	n.Helper()
	var list corev1.PodList
	if err := suite.Client.List(n.Context(), &list, client.InNamespace(n.name), client.MatchingLabels{v1beta2.LabelCluster: cluster}); err != nil {
		n.Fatal(err)
	}
	pods := map[string]corev1.Pod{}
	for _, pod := range list.Items {
		pods[pod.Name] = pod
	}
	return pods
}

// operatorRestarts returns how often each container of the operators restarted.
func (n *namespaced) operatorRestarts() map[string]int32 {
	n.Helper()
	var list corev1.PodList
	if err := suite.Client.List(n.Context(), &list, client.InNamespace(stack.Namespace)); err != nil {
		n.Fatal(err)
	}
	restarts := map[string]int32{}
	for _, pod := range list.Items {
		for _, status := range pod.Status.ContainerStatuses {
			restarts[fmt.Sprintf("%s of Pod %s, %s", status.Name, pod.Name, pod.UID)] = status.RestartCount
		}
	}
	return restarts
}

// operatorsNeverRestarted checks that no operator restarted during this test. Earlier restarts, such as by the reboot of
// a node, do not count.
func (n *namespaced) operatorsNeverRestarted() {
	n.Helper()
	for container, restarts := range n.operatorRestarts() {
		if before := n.restarts[container]; restarts != before {
			n.Errorf("operator container %s restarted during this test: %d restarts, %d before", container, restarts, before)
		}
	}
}

// memberIDs returns the member IDs in the status by member name.
func memberIDs(cluster *v1beta2.EtcdCluster) map[string]string {
	ids := map[string]string{}
	for _, m := range cluster.Status.MemberStatuses {
		ids[m.Name] = m.ID
	}
	return ids
}
