package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// Options of a World.
type Options struct {
	// TLS: the operator manages certificates.
	TLS bool
	// Nodes is how many nodes the Pods are spread over; with 0 they have none.
	Nodes int
	// Flags of the operator.
	Flags []string
	// Labels of the EtcdCluster with a number; nil for none.
	Labels func(n int) map[string]string
}

// World is a Kubernetes with a cluster-operator and a Fleet.
type World struct {
	t         testing.TB
	Client    client.Client
	Fleet     *Fleet
	Operator  *Program
	Namespace string

	options                        Options
	kubelet                        *kubelet
	program, configuration, folder string

	mu    sync.Mutex
	ready map[string]time.Time
	seen  map[string]v1beta2.EtcdClusterStatus
	empty []string
	// changes are the newest status changes, for the message of a failed test.
	changes []string
}

// New starts a World without EtcdClusters.
func New(t testing.TB, options Options) *World {
	t.Helper()
	config := kubetest.Config(t)
	config.QPS = -1 // the harness must not be what is slow
	api, err := client.New(config, client.Options{Scheme: kubetest.Client(t).Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &World{
		t: t, Client: api, Fleet: newFleet(t, api, options.TLS), Namespace: kubetest.Namespace(t), options: options, folder: t.TempDir(),
		ready: map[string]time.Time{}, seen: map[string]v1beta2.EtcdClusterStatus{},
	}
	w.createNodes()
	c := watch(t, w.Namespace)
	w.kubelet = newKubelet(ctx, t, c, api, w.Fleet, options.Nodes)
	w.watchClusters(ctx, c)
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	if !c.WaitForCacheSync(ctx) {
		t.Fatal("the caches of the fleet did not start")
	}
	w.program, w.configuration = build(t, w.folder, "cluster-operator"), kubeconfig(t, w.folder)
	w.StartOperator()
	t.Cleanup(w.showLog)
	return w
}

// StartOperator starts the program, once more after Stop.
func (w *World) StartOperator() {
	w.Operator = w.StartAnother(w.options.Flags...)
}

// StartAnother starts the program with other flags, beside the one that runs.
func (w *World) StartAnother(flags ...string) *Program {
	p := run(w.t, w.program, w.configuration, filepath.Join(w.folder, "operator.log"), append([]string{"--watch-namespaces=" + w.Namespace, "--seed-image=seed"}, flags...)...)
	kubetest.Eventually(w.t, "the operator serves metrics", func(context.Context) error { _, err := p.Usage(); return err })
	return p
}

// StartOther builds and starts backup-operator or restore-operator, for all namespaces.
func (w *World) StartOther(name string, flags ...string) *Program {
	return run(w.t, build(w.t, w.folder, name), w.configuration, filepath.Join(w.folder, name+".log"), flags...)
}

func (w *World) showLog() {
	if !w.t.Failed() {
		return
	}
	const tail = 8 << 10
	log, _ := os.ReadFile(filepath.Join(w.folder, "operator.log"))
	w.t.Logf("end of the operator's log:\n%s", log[max(0, len(log)-tail):])
}

func (w *World) createNodes() {
	for n := range w.options.Nodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(n), Labels: map[string]string{corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", n%3)}}}
		if err := w.Client.Create(w.t.Context(), node); err != nil {
			w.t.Fatalf("create Node %s: %v", node.Name, err)
		}
		w.t.Cleanup(func() { _ = w.Client.Delete(context.Background(), node) })
	}
}

// watchClusters records when each cluster became Ready first, and status writes that changed nothing.
func (w *World) watchClusters(ctx context.Context, c cache.Cache) {
	i, err := c.GetInformer(ctx, &v1beta2.EtcdCluster{})
	if err != nil {
		w.t.Fatalf("watch EtcdClusters: %v", err)
	}
	saw := func(object any) {
		cluster, ok := object.(*v1beta2.EtcdCluster)
		if !ok {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if meta.IsStatusConditionTrue(cluster.Status.Conditions, v1beta2.ConditionReady) && w.ready[cluster.Name].IsZero() {
			w.ready[cluster.Name] = time.Now()
		}
	}
	_, err = i.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: saw,
		UpdateFunc: func(before, after any) {
			saw(after)
			w.compare(before, after)
		},
	})
	if err != nil {
		w.t.Fatalf("watch EtcdClusters: %v", err)
	}
}

// compare records a status write that changed nothing but times.
func (w *World) compare(before, after any) {
	old, ok := before.(*v1beta2.EtcdCluster)
	now, ok2 := after.(*v1beta2.EtcdCluster)
	if !ok || !ok2 || old.ResourceVersion == now.ResourceVersion || old.Generation != now.Generation {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes = append(w.changes[max(0, len(w.changes)-keptChanges):], now.Name+": "+cmp.Diff(old.Status, now.Status))
	if equality.Semantic.DeepEqual(withoutTimes(old.Status), withoutTimes(now.Status)) && equality.Semantic.DeepEqual(old.Annotations, now.Annotations) {
		w.empty = append(w.empty, now.Name)
	}
}

// keptChanges is how many status changes a World remembers.
const keptChanges = 3

// Changes are the newest changes of a status.
func (w *World) Changes() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.changes)
}

func withoutTimes(status v1beta2.EtcdClusterStatus) v1beta2.EtcdClusterStatus {
	status = *status.DeepCopy()
	for i := range status.Conditions {
		status.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	return status
}

// EmptyWrites are the clusters whose status was written without a change.
func (w *World) EmptyWrites() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.empty)
}

// Name of the cluster with a number.
func Name(n int) string { return fmt.Sprintf("c%04d", n) }

// Key of the cluster with a number.
func (w *World) Key(n int) client.ObjectKey {
	return client.ObjectKey{Namespace: w.Namespace, Name: Name(n)}
}

// Create creates clusters with three members each. It does not wait for them.
func (w *World) Create(from, to int) {
	w.t.Helper()
	for n := from; n < to; n++ {
		c := &v1beta2.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: Name(n)},
			Spec: v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16", Pod: &v1beta2.PodPolicy{
				PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{StorageClassName: ptr.To("fleet")},
			}},
		}
		if w.options.Labels != nil {
			c.Labels = w.options.Labels(n)
		}
		if w.options.TLS {
			c.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
		}
		if err := w.Client.Create(w.t.Context(), c); err != nil {
			w.t.Fatalf("create EtcdCluster %s: %v", c.Name, err)
		}
	}
}

// Ready returns when the clusters became Ready, sorted.
func (w *World) Ready() []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	var times []time.Time
	for _, at := range w.ready {
		times = append(times, at)
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}

// AwaitReady waits until n clusters were Ready.
func (w *World) AwaitReady(n int, limit time.Duration) error {
	return w.await(limit, func() error {
		if ready := len(w.Ready()); ready < n {
			return fmt.Errorf("%d of %d clusters are Ready; the newest status changes: %s", ready, n, w.Changes())
		}
		return nil
	})
}

// AwaitLooks waits until every cluster was asked since a time.
func (w *World) AwaitLooks(since time.Time, limit time.Duration) error {
	return w.await(limit, func() error {
		if missed := w.Fleet.NotLookedAt(since); len(missed) > 0 {
			return fmt.Errorf("%d clusters were not looked at", len(missed))
		}
		return nil
	})
}

// await polls a condition.
func (w *World) await(limit time.Duration, condition func() error) error {
	const interval = 20 * time.Millisecond
	tick := time.NewTicker(interval)
	defer tick.Stop()
	deadline := time.Now().Add(limit)
	for {
		err := condition()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		<-tick.C
	}
}

// Pause lets time pass.
func (w *World) Pause(d time.Duration) { <-time.After(d) }

// AwaitQuiet waits until the operator has written nothing for a time.
func (w *World) AwaitQuiet(quiet, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for {
		before, err := w.Operator.Usage()
		if err != nil {
			return err
		}
		w.Pause(quiet)
		after, err := w.Operator.Usage()
		if err != nil {
			return err
		}
		writes := after.Since(before).Writes
		if len(writes) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the operator still writes: %v", writes)
		}
	}
}

// Reactions deletes one Pod of each of the clusters, one after the other, and returns how long the operator needed to create its
// successor. If limit passes, the limit is the result.
func (w *World) Reactions(clusters []int, limit time.Duration) []time.Duration {
	w.t.Helper()
	var times []time.Duration
	for _, n := range clusters {
		pod, uid := w.onePod(n)
		begin := time.Now()
		if err := w.Client.Delete(w.t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
			w.t.Fatalf("delete Pod %s: %v", pod.Name, err)
		}
		took := limit
		_ = w.await(limit, func() error {
			at, done := w.kubelet.replacement(client.ObjectKeyFromObject(pod), uid)
			if !done {
				return fmt.Errorf("no successor of Pod %s", pod.Name)
			}
			took = at.Sub(begin)
			return nil
		})
		times = append(times, took)
	}
	slices.Sort(times)
	return times
}

// onePod returns the first Pod of a cluster by name. Silence is about the last.
func (w *World) onePod(n int) (*corev1.Pod, types.UID) {
	w.t.Helper()
	var pods corev1.PodList
	if err := w.Client.List(w.t.Context(), &pods, client.InNamespace(w.Namespace), client.MatchingLabels{v1beta2.LabelCluster: Name(n)}); err != nil {
		w.t.Fatal(err)
	}
	if len(pods.Items) == 0 {
		w.t.Fatalf("EtcdCluster %s has no Pods", Name(n))
	}
	first := slices.MinFunc(pods.Items, func(a, b corev1.Pod) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return &first, first.UID
}

// LoseNode makes the members on a node silent. It returns how many they are.
func (w *World) LoseNode(n int) int { return w.kubelet.lose(nodeName(n)) }

// Percentile of sorted times.
func Percentile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}

// CreateUnrelated creates objects that belong to no EtcdCluster: a third each are Pods, volumes and Services.
func (w *World) CreateUnrelated(n int) {
	w.t.Helper()
	owner := []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "5f0c7d9e-0000-4000-8000-000000000000", Controller: ptr.To(true)}}
	var workers errgroup.Group
	workers.SetLimit(atOnce)
	for i := range n {
		meta := metav1.ObjectMeta{Namespace: w.Namespace, Name: fmt.Sprintf("web-%d", i), Labels: map[string]string{"example.com/name": "web"}, OwnerReferences: owner}
		var object client.Object
		switch i % 3 {
		case 0:
			container := corev1.Container{Name: "web", Image: "registry.example.com/web:1.0", Env: []corev1.EnvVar{{Name: "A", Value: "some value of a variable"}}}
			object = &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Containers: []corev1.Container{container}}}
		case 1:
			size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
			object = &corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: corev1.VolumeResourceRequirements{Requests: size},
			}}
		default:
			object = &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: "None", Ports: []corev1.ServicePort{{Port: 80}}}}
		}
		workers.Go(func() error { return w.Client.Create(w.t.Context(), object) })
	}
	if err := workers.Wait(); err != nil {
		w.t.Fatalf("create unrelated objects: %v", err)
	}
}
