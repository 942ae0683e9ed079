package ready

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/bench/measure"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

const (
	// defaultRounds is how often each of the two is measured, unless BENCH_ROUNDS is set.
	defaultRounds = 5
	size          = 3
	// limit is the timeout for becoming ready.
	limit        = 3 * time.Minute
	pollInterval = 20 * time.Millisecond
)

// programs lists the program modules that the benchmark needs.
var programs = []string{"kubernetes", "containerd", "coredns", "directories", "local-path", "etcd-3.6", "cni", "helm"}

// BenchmarkReady compares the time from creation to three Ready members with that of a StatefulSet. The StatefulSet has
// the same image, probes and volumes, and also starts all Pods at once. Both are measured with the same polls.
func BenchmarkReady(b *testing.B) {
	suite := installed(b, programs...)
	var floor, pods, cluster []time.Duration
	for round := range rounds(b) {
		// Alternate the order, so that leftover work of the previous round affects both equally.
		for turn := range 2 {
			if turn == round%2 {
				floor = append(floor, statefulSetTime(b, suite.Client))
				continue
			}
			members, ready := clusterTime(b, suite.Client)
			pods, cluster = append(pods, members), append(cluster, ready)
		}
		b.Logf("round %d: StatefulSet ready after %s; Pods of the EtcdCluster after %s, EtcdCluster after %s", round, floor[round], pods[round], cluster[round])
	}
	b.ReportMetric(measure.Median(floor).Seconds(), "s/statefulset")
	b.ReportMetric(measure.Median(pods).Seconds(), "s/members")
	b.ReportMetric(measure.Median(pods).Seconds()/measure.Median(floor).Seconds(), "members/statefulset")
	b.ReportMetric(measure.Median(cluster).Seconds()/measure.Median(floor).Seconds(), "cluster/statefulset")
	b.ReportMetric(0, "ns/op") // ns/op has no meaning here
}

// installed returns the suite, installed on a Kubernetes that has the images of the named program modules.
func installed(b *testing.B, names ...string) *stack.Stack {
	b.Helper()
	suite, err := stack.Open(b.Context(), os.Stderr, names...)
	if err != nil {
		b.Fatal(err)
	}
	if err := suite.LoadImages(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := suite.Install(b.Context()); err != nil {
		b.Fatal(err)
	}
	if suite.Local != nil {
		makeDefault(b, suite.Client, "local-path", true)
		makeDefault(b, suite.Client, "standard", false)
	}
	return suite
}

// makeDefault makes a StorageClass the default or not, until the benchmark ends. In most clusters a volume takes seconds, but
// those of the default class of the local Kubernetes are there at once.
func makeDefault(b *testing.B, c client.Client, name string, is bool) {
	b.Helper()
	set := func(ctx context.Context, is bool) error {
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"%t"}}}`, is))
		return c.Patch(ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}}, patch)
	}
	if err := set(b.Context(), is); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := set(context.WithoutCancel(b.Context()), !is); err != nil {
			b.Error(err)
		}
	})
}

func rounds(b *testing.B) int {
	b.Helper()
	asked := os.Getenv("BENCH_ROUNDS")
	if asked == "" {
		return defaultRounds
	}
	count, err := strconv.Atoi(asked)
	if err != nil || count < 1 {
		b.Fatalf("BENCH_ROUNDS=%q is not a positive number", asked)
	}
	return count
}

// statefulSetTime returns the time that a StatefulSet takes.
func statefulSetTime(b *testing.B, c client.Client) time.Duration {
	b.Helper()
	namespace := newNamespace(b, c)
	defer dropNamespace(b, c, namespace)
	return readyPods(b, c, namespace, size, statefulSet(namespace, "bare", size)...)
}

// clusterTime returns the time until the Pods of an EtcdCluster are Ready, and until the EtcdCluster itself is.
func clusterTime(b *testing.B, c client.Client) (members, ready time.Duration) {
	b.Helper()
	namespace := newNamespace(b, c)
	defer dropNamespace(b, c, namespace)
	object := etcdCluster(namespace, "example")
	began := time.Now()
	members = readyPods(b, c, namespace, size, object)
	awaitReady(b, c, object)
	return members, time.Since(began)
}

// etcdCluster returns an EtcdCluster of three members.
func etcdCluster(namespace, name string) *v1beta2.EtcdCluster {
	return &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1beta2.EtcdClusterSpec{Size: size},
	}
}

// awaitReady waits until the operator reports that an EtcdCluster is as its spec asks.
func awaitReady(b *testing.B, c client.Client, object *v1beta2.EtcdCluster) {
	b.Helper()
	await(b, "the EtcdCluster is Ready", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(object.Status.Conditions, v1beta2.ConditionReady)
		if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != object.Generation || object.Status.Size != object.Spec.Size {
			return fmt.Errorf("the condition Ready is %+v, %d members are Ready", ready, object.Status.Size)
		}
		return nil
	})
}

// readyPods creates the objects and returns the time until so many Pods of the namespace are Ready.
func readyPods(b *testing.B, c client.Client, namespace string, wanted int, objects ...client.Object) time.Duration {
	b.Helper()
	began := time.Now()
	for _, object := range objects {
		if err := c.Create(b.Context(), object); err != nil {
			b.Fatal(err)
		}
	}
	await(b, fmt.Sprintf("%d Pods are Ready", wanted), func(ctx context.Context) error {
		var list corev1.PodList
		if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		ready := 0
		for _, pod := range list.Items {
			if isReady(pod) {
				ready++
			}
		}
		if ready < wanted {
			return fmt.Errorf("%d Pods are Ready", ready)
		}
		return nil
	})
	return time.Since(began)
}

func isReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func await(b *testing.B, what string, met func(context.Context) error) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), limit)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := met(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			b.Fatalf("%s: this did not happen within %s: %v", what, limit, err)
		case <-tick.C:
		}
	}
}
