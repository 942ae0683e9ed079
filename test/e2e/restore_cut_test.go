package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// Nodes lose the API server, and their members still reach their peers and clients. Kubernetes cannot stop such members. So if a restore
// relies on what Kubernetes reports of them, it loses writes that they acknowledge, or it waits without an end.
func TestLongRestoreCompletesWhileNodesAreCutOffFromTheAPIServer(t *testing.T) {
	if suite.Local == nil {
		t.Skip("this needs the nodes of the local Kubernetes")
	}
	for _, cut := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d of 3", cut), func(t *testing.T) { restoresBesideCutNodes(t, cut) })
	}
}

func restoresBesideCutNodes(t *testing.T, cut int) {
	n := begin(t)
	n.eventually("all nodes are ready", untainted)
	n.gather(1) // connections to a Service go through this node
	if _, err := suite.StartS3(n.Context()); err != nil {
		n.Fatal(err) // its Pod has no volume, and was moved
	}
	_, path := n.saved()
	numbers := nodesOf(n)
	writers := n.writers("three")
	for _, number := range numbers[1 : 1+cut] {
		if err := suite.Local.CutAPIServer(n.Context(), number); err != nil {
			n.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = suite.Local.UnblockTraffic(context.Background()) })
	n.eventually("Kubernetes notices that the nodes are silent", func(ctx context.Context) error { return silent(ctx, numbers[1:1+cut]) })

	n.apply(s3Restore("back", "three", path))
	says(n, &v1beta2.EtcdRestore{}, "back", v1beta2.ConditionRestoring, v1beta2.ReasonGrowing)
	switched := n.cluster("three").Status
	n.put(n.etcd("three", nil), "new-connection", 5) // a node that the API server reaches leads it to the seed
	becomes(n, &v1beta2.EtcdRestore{}, "back", v1beta2.ConditionComplete)
	if err := suite.Local.UnblockTraffic(n.Context()); err != nil {
		n.Fatal(err)
	}
	n.ready("three")
	n.eventually("the client that was connected to an old member writes again", func(context.Context) error {
		if last := writers[0].last(); last != switched.ClusterID {
			return fmt.Errorf("its last write was acknowledged by cluster %s", last)
		}
		return nil
	})
	for _, w := range writers {
		w.end()
	}
	n.oneHistory(writers, switched)
}

// nodesOf returns the numbers of the nodes of the members.
func nodesOf(n *namespaced) (numbers []int) {
	n.Helper()
	for _, pod := range n.pods("three") {
		number, err := strconv.Atoi(strings.TrimPrefix(pod.Spec.NodeName, "node-"))
		if err != nil {
			n.Fatal(err)
		}
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	if distinct := slices.Compact(slices.Clone(numbers)); len(distinct) != 3 {
		n.Fatalf("the members are on the nodes %v", numbers)
	}
	return numbers
}

// gather brings all Pods of Deployments to one node, so that the others have members only.
func (n *namespaced) gather(number int) {
	n.Helper()
	node := fmt.Sprintf("node-%d", number)
	var pods corev1.PodList
	if err := suite.Client.List(n.Context(), &pods); err != nil {
		n.Fatal(err)
	}
	for other := 1; other <= stack.Nodes; other++ {
		if other != number {
			n.kubectl("cordon", fmt.Sprintf("node-%d", other))
		}
	}
	for _, pod := range pods.Items {
		if owner := metav1.GetControllerOf(&pod); owner != nil && owner.Kind == "ReplicaSet" && pod.Spec.NodeName != node {
			n.kubectl("delete", "pod", "-n", pod.Namespace, pod.Name, "--wait=false")
		}
	}
	n.eventually("all Deployments run on "+node, func(ctx context.Context) error { return onNode(ctx, node) })
	for other := 1; other <= stack.Nodes; other++ {
		n.kubectl("uncordon", fmt.Sprintf("node-%d", other))
	}
}

func onNode(ctx context.Context, node string) error {
	var deployments appsv1.DeploymentList
	var pods corev1.PodList
	if err := errors.Join(suite.Client.List(ctx, &deployments), suite.Client.List(ctx, &pods)); err != nil {
		return err
	}
	for _, d := range deployments.Items {
		if d.Status.AvailableReplicas < d.Status.Replicas || d.Status.Replicas == 0 || d.Status.UnavailableReplicas > 0 {
			return fmt.Errorf("deployment %s/%s is not available", d.Namespace, d.Name)
		}
	}
	for _, pod := range pods.Items {
		if owner := metav1.GetControllerOf(&pod); owner != nil && owner.Kind == "ReplicaSet" && pod.Spec.NodeName != node {
			return fmt.Errorf("pod %s/%s is on %s", pod.Namespace, pod.Name, pod.Spec.NodeName)
		}
	}
	return nil
}

// untainted fails until Kubernetes starts Pods on all nodes again.
func untainted(ctx context.Context) error {
	var nodes corev1.NodeList
	if err := suite.Client.List(ctx, &nodes); err != nil {
		return err
	}
	for _, node := range nodes.Items {
		if len(node.Spec.Taints) > 0 {
			return fmt.Errorf("%s has the taint %s", node.Name, node.Spec.Taints[0].Key)
		}
	}
	return nil
}

// silent fails until Kubernetes reports the nodes as silent.
func silent(ctx context.Context, numbers []int) error {
	for _, number := range numbers {
		var node corev1.Node
		if err := suite.Client.Get(ctx, client.ObjectKey{Name: fmt.Sprintf("node-%d", number)}, &node); err != nil {
			return err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return fmt.Errorf("node-%d is ready", number)
			}
		}
	}
	return nil
}

// acknowledged is a write that a cluster has acknowledged.
type acknowledged struct {
	key      string
	cluster  uint64
	revision int64
}

// writer writes by one connection without an end.
type writer struct {
	etcd   *clientv3.Client
	prefix string
	stop   context.CancelFunc
	ended  sync.WaitGroup
	mu     sync.Mutex
	wrote  []acknowledged
}

// last returns the ID of the cluster that has acknowledged the last write.
func (w *writer) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.wrote) == 0 {
		return "none"
	}
	return fmt.Sprintf("%016x", w.wrote[len(w.wrote)-1].cluster)
}

// writers write to the client Service, which is the first, and to each member by its own address.
func (n *namespaced) writers(cluster string) (all []*writer) {
	n.Helper()
	all = append(all, n.writer("service", n.etcd(cluster, nil)))
	for name, pod := range n.pods(cluster) {
		etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + pod.Status.PodIP + ":2379"}})
		if err != nil {
			n.Fatal(err)
		}
		n.Cleanup(func() { _ = etcd.Close() })
		all = append(all, n.writer(name, etcd))
	}
	return all
}

func (n *namespaced) writer(name string, etcd *clientv3.Client) *writer {
	ctx, cancel := context.WithCancel(n.Context())
	w := &writer{etcd: etcd, prefix: "by-" + name + "-", stop: cancel}
	w.ended.Go(func() { w.run(ctx) })
	n.Cleanup(w.end)
	return w
}

func (w *writer) run(ctx context.Context) {
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		key := fmt.Sprintf("%s%06d", w.prefix, i)
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		response, err := w.etcd.Put(limited, key, key)
		cancel()
		if err == nil {
			w.mu.Lock()
			w.wrote = append(w.wrote, acknowledged{key, response.Header.ClusterId, response.Header.Revision})
			w.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
	}
}

func (w *writer) end() {
	w.stop()
	w.ended.Wait()
}

// oneHistory fails the test if the old cluster has acknowledged a write after the last revision that the status reports, or if a write that the restored
// cluster has acknowledged is lost.
func (n *namespaced) oneHistory(writers []*writer, switched v1beta2.EtcdClusterStatus) {
	n.Helper()
	last, restored := switched.Restore.LastRevision, switched.ClusterID
	if last == 0 {
		n.Errorf("the old members were not fenced: %+v", switched.Restore)
	}
	etcd := n.etcd("three", nil)
	before, after := 0, 0
	for _, w := range writers {
		kept := map[string]bool{}
		n.eventuallyQuiet(func(ctx context.Context) error {
			response, err := etcd.Get(ctx, w.prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
			if err != nil {
				return err
			}
			for _, kv := range response.Kvs {
				kept[string(kv.Key)] = true
			}
			return nil
		})
		for _, a := range w.wrote {
			switch mine := fmt.Sprintf("%016x", a.cluster) == restored; {
			case mine && !kept[a.key]:
				n.Errorf("the restored cluster has acknowledged %s at revision %d, and it is lost", a.key, a.revision)
			case mine:
				after++
			case a.revision > last:
				n.Errorf("the old cluster has acknowledged %s at revision %d, after its last revision %d", a.key, a.revision, last)
			default:
				before++
			}
		}
	}
	n.Logf("%d writes were acknowledged up to revision %d, and %d by the restored cluster. %d of these revisions are not saved", before, last, after, ptr.Deref(n.cluster("three").Status.Restore.UnsavedRevisions, -1))
	if before == 0 || after == 0 {
		n.Errorf("%d writes before the switch and %d after it prove nothing", before, after)
	}
}
