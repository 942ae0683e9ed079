package fleet

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// kubelet acts for the scheduler and the nodes: it places Pods, starts their members and reports them Ready.
type kubelet struct {
	t      testing.TB
	client client.Client
	fleet  *Fleet
	nodes  int
	slots  chan struct{}

	mu   sync.Mutex
	pods map[types.UID]*placed
	// created are the newest Pods by name.
	created map[client.ObjectKey]creation
	lost    map[string]bool
	next    int
}

type placed struct{ address, node string }

// creation is when a Pod was seen first.
type creation struct {
	uid types.UID
	at  time.Time
}

// atOnce is how many Pods are handled at the same time.
const atOnce = 16

// watch starts a cache for the harness with the Pods and the EtcdClusters of a namespace.
func watch(t testing.TB, namespace string) cache.Cache {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	members := labels.SelectorFromSet(labels.Set{v1beta2.LabelApp: v1beta2.AppName})
	c, err := cache.New(kubetest.Config(t), cache.Options{
		Scheme: scheme, DefaultNamespaces: map[string]cache.Config{namespace: {}},
		ByObject:         map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: members}},
		DefaultTransform: cache.TransformStripManagedFields(),
	})
	if err != nil {
		t.Fatalf("watch the fleet: %v", err)
	}
	return c
}

// newKubelet handles the Pods of a cache.
func newKubelet(ctx context.Context, t testing.TB, c cache.Cache, api client.Client, fleet *Fleet, nodes int) *kubelet {
	t.Helper()
	k := &kubelet{
		t: t, client: api, fleet: fleet, nodes: nodes, slots: make(chan struct{}, atOnce),
		pods: map[types.UID]*placed{}, created: map[client.ObjectKey]creation{}, lost: map[string]bool{},
	}
	informer, err := c.GetInformer(ctx, &corev1.Pod{})
	if err != nil {
		t.Fatalf("watch Pods: %v", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { k.saw(ctx, object) },
		UpdateFunc: func(_, object any) { k.saw(ctx, object) },
		DeleteFunc: k.gone,
	})
	if err != nil {
		t.Fatalf("watch Pods: %v", err)
	}
	return k
}

// saw starts a new Pod, and ends one that is to be deleted.
func (k *kubelet) saw(ctx context.Context, object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.pods[pod.UID]
	switch {
	case pod.DeletionTimestamp != nil && p != nil && k.lost[p.node]:
		// The node is lost: it ends nothing.
	case pod.DeletionTimestamp != nil:
		go k.end(ctx, pod)
	case p == nil:
		k.pods[pod.UID] = &placed{}
		k.created[client.ObjectKeyFromObject(pod)] = creation{uid: pod.UID, at: time.Now()}
		node := k.place()
		go k.run(ctx, pod.DeepCopy(), node)
	}
}

// place returns the next node that is not lost, or "" without nodes.
func (k *kubelet) place() string {
	for range k.nodes {
		k.next++
		if node := nodeName(k.next % k.nodes); !k.lost[node] {
			return node
		}
	}
	return ""
}

func nodeName(n int) string { return fmt.Sprintf("node-%d", n) }

func (k *kubelet) run(ctx context.Context, pod *corev1.Pod, node string) {
	k.slots <- struct{}{}
	defer func() { <-k.slots }()
	address, err := k.fleet.start(ctx, pod)
	if err != nil {
		k.t.Errorf("run Pod %s: %v", pod.Name, err)
		return
	}
	k.mu.Lock()
	k.pods[pod.UID] = &placed{address: address, node: node}
	k.mu.Unlock()
	if node != "" {
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
		if err := k.client.SubResource("binding").Create(ctx, pod, binding); k.failed(ctx, err) {
			k.t.Errorf("bind Pod %s: %v", pod.Name, err)
		}
	}
	k.report(ctx, pod, address)
}

// report makes a Pod Ready.
func (k *kubelet) report(ctx context.Context, pod *corev1.Pod, address string) {
	before := pod.DeepCopy()
	now := metav1.Now()
	started := true
	status := corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}}, StartTime: &now}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, Started: &started,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	pod.Status = status
	if err := k.client.Status().Patch(ctx, pod, client.MergeFrom(before)); k.failed(ctx, err) {
		k.t.Errorf("report Pod %s: %v", pod.Name, err)
	}
}

func (k *kubelet) failed(ctx context.Context, err error) bool {
	return client.IgnoreNotFound(err) != nil && ctx.Err() == nil
}

// end stops the member of a Pod and deletes the Pod.
func (k *kubelet) end(ctx context.Context, pod *corev1.Pod) {
	k.stop(pod.UID)
	err := k.client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}},
		client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	if k.failed(ctx, client.IgnoreNotFound(err)) {
		k.t.Logf("end Pod %s: %v", pod.Name, err)
	}
}

func (k *kubelet) gone(object any) {
	if unknown, is := object.(toolscache.DeletedFinalStateUnknown); is {
		object = unknown.Obj
	}
	if pod, ok := object.(*corev1.Pod); ok {
		k.stop(pod.UID)
	}
}

func (k *kubelet) stop(uid types.UID) {
	k.mu.Lock()
	p := k.pods[uid]
	k.pods[uid] = &placed{} // known, so that no event starts it again
	k.mu.Unlock()
	if p != nil && p.address != "" {
		k.fleet.stop(p.address)
	}
}

// lose makes all members on a node silent. It returns how many they are.
func (k *kubelet) lose(node string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lost[node] = true
	members := 0
	for _, p := range k.pods {
		if p.node != node || p.address == "" {
			continue
		}
		k.fleet.mu.Lock()
		m := k.fleet.members[p.address]
		k.fleet.mu.Unlock()
		if m != nil {
			m.silent.Store(true)
			members++
		}
	}
	return members
}

// replacement returns when a Pod with the name and another UID was seen first.
func (k *kubelet) replacement(pod client.ObjectKey, of types.UID) (time.Time, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.created[pod]
	return c.at, c.uid != of && c.uid != ""
}
