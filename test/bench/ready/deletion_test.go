package ready

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/bench/measure"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// deletions is what happened when Pods of one set of members were deleted, one after the other.
type deletions struct {
	healed, gaps []time.Duration
	// absent is how long the member of the Pod did not serve.
	absent []time.Duration
	failed int
}

func (d *deletions) add(more deletions) {
	d.healed, d.gaps, d.absent = append(d.healed, more.healed...), append(d.gaps, more.gaps...), append(d.absent, more.absent...)
	d.failed += more.failed
}

// BenchmarkReadyAfterDeletion measures the time from the deletion of a Pod until all three are Ready again, of an
// EtcdCluster and of a StatefulSet. Each round deletes each of the three Pods. A client writes through a Service meanwhile,
// and the benchmark reports its longest gaps and its failed writes, too. On the local Kubernetes it asks the member at its Pod, and
// reports for how long it did not serve.
func BenchmarkReadyAfterDeletion(b *testing.B) {
	suite := installed(b, programs...)
	var floor, cluster deletions
	for round := range rounds(b) {
		for turn := range 2 {
			which, all := deletionsOfCluster, &cluster
			if turn == round%2 {
				which, all = deletionsOfStatefulSet, &floor
			}
			all.add(which(b, suite))
		}
		b.Logf("round %d: StatefulSet %s, without the member %s, gaps %s; EtcdCluster %s, without the member %s, gaps %s", round,
			last(floor.healed), last(floor.absent), last(floor.gaps), last(cluster.healed), last(cluster.absent), last(cluster.gaps))
	}
	b.Logf("failed writes: StatefulSet %d, EtcdCluster %d", floor.failed, cluster.failed)
	b.ReportMetric(measure.Median(floor.healed).Seconds(), "s/statefulset")
	b.ReportMetric(measure.Median(cluster.healed).Seconds(), "s/cluster")
	b.ReportMetric(measure.Median(cluster.healed).Seconds()/measure.Median(floor.healed).Seconds(), "cluster/statefulset")
	b.ReportMetric(measure.Median(floor.absent).Seconds(), "s/absent-statefulset")
	b.ReportMetric(measure.Median(cluster.absent).Seconds(), "s/absent-cluster")
	b.ReportMetric(measure.Median(floor.gaps).Seconds(), "s/gap-statefulset")
	b.ReportMetric(measure.Median(cluster.gaps).Seconds(), "s/gap-cluster")
	b.ReportMetric(slices.Max(floor.gaps).Seconds(), "s/longest-statefulset")
	b.ReportMetric(slices.Max(cluster.gaps).Seconds(), "s/longest-cluster")
	b.ReportMetric(0, "ns/op") // ns/op has no meaning here
}

// last returns the times of the last round.
func last(times []time.Duration) []time.Duration { return rounded(times[len(times)-size:]) }

func deletionsOfStatefulSet(b *testing.B, suite *stack.Stack) deletions {
	b.Helper()
	namespace := newNamespace(b, suite.Client)
	defer dropNamespace(b, suite.Client, namespace)
	readyPods(b, suite.Client, namespace, size, append(statefulSet(namespace, "bare", size), serviceOf(namespace, "bare"))...)
	return deleteEach(b, suite, namespace, "bare")
}

// serviceOf returns the Service for the clients of a StatefulSet.
func serviceOf(namespace, name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-client"}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Name: "client", Port: v1beta2.ClientPort}},
	}}
}

func deletionsOfCluster(b *testing.B, suite *stack.Stack) deletions {
	b.Helper()
	namespace := newNamespace(b, suite.Client)
	defer dropNamespace(b, suite.Client, namespace)
	cluster := etcdCluster(namespace, "example")
	if err := suite.Client.Create(b.Context(), cluster); err != nil {
		b.Fatal(err)
	}
	awaitReady(b, suite.Client, cluster)
	return deleteEach(b, suite, namespace, "example")
}

// deleteEach deletes each Pod of a namespace and waits until all are Ready again. A client writes through the Service
// <name>-client meanwhile.
func deleteEach(b *testing.B, suite *stack.Stack, namespace, name string) (saw deletions) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	etcd, err := suite.Etcd(ctx, namespace, name, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer etcd.Close()
	var pods corev1.PodList
	if err := suite.Client.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		b.Fatal(err)
	}
	for i := range pods.Items {
		writer, member := startWriter(ctx, etcd), startAsking(ctx, memberOf(suite, &pods.Items[i]))
		saw.healed = append(saw.healed, healTime(b, suite.Client, &pods.Items[i], len(pods.Items)))
		writer.stop()
		member.stop()
		saw.gaps, saw.failed = append(saw.gaps, writer.gap.length()), saw.failed+writer.failed
		saw.absent = append(saw.absent, member.gap.length())
	}
	return saw
}

// memberOf returns where the member of a Pod tells whether it serves, now or in the next Pod of that name.
func memberOf(suite *stack.Stack, pod *corev1.Pod) func(context.Context) string {
	return func(ctx context.Context) string {
		var now corev1.Pod
		if err := suite.Client.Get(ctx, client.ObjectKeyFromObject(pod), &now); err != nil || now.Status.PodIP == "" {
			return ""
		}
		return net.JoinHostPort(now.Status.PodIP, strconv.Itoa(int(v1beta2.MetricsPort)))
	}
}

// healTime deletes a Pod and returns the time until so many Pods are Ready and it is none of them.
func healTime(b *testing.B, c client.Client, pod *corev1.Pod, wanted int) time.Duration {
	b.Helper()
	deleted := pod.UID
	began := time.Now()
	if err := c.Delete(b.Context(), pod); err != nil {
		b.Fatal(err)
	}
	await(b, "all Pods are Ready again", func(ctx context.Context) error {
		var list corev1.PodList
		if err := c.List(ctx, &list, client.InNamespace(pod.Namespace)); err != nil {
			return err
		}
		list.Items = slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.UID == deleted || !isReady(pod) })
		if len(list.Items) < wanted {
			return errors.New("a Pod is not Ready")
		}
		return nil
	})
	return time.Since(began)
}
