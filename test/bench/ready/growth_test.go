package ready

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/bench/measure"
)

// grown is the size that the benchmark grows a cluster to.
const grown = 5

// BenchmarkReadyAfterChange measures how long an EtcdCluster takes to grow from three to five members, compared with one
// volume and start: a StatefulSet with one Pod. It also measures the time from the deletion of a Pod until all are Ready,
// compared with a StatefulSet of three.
func BenchmarkReadyAfterChange(b *testing.B) {
	c := installed(b).Client
	var one, growth, floor, healed []time.Duration
	for round := range rounds(b) {
		one = append(one, startTime(b, c))
		floor = append(floor, healTimeOfStatefulSet(b, c))
		grow, heal := changeTimes(b, c)
		growth, healed = append(growth, grow), append(healed, heal)
		b.Logf("round %d: one volume and start %s, 3 to 5 members %s; after the deletion of a Pod: StatefulSet %s, EtcdCluster %s", round, one[round], grow, floor[round], heal)
	}
	b.ReportMetric(measure.Median(growth).Seconds(), "s/growth")
	b.ReportMetric(measure.Median(growth).Seconds()/measure.Median(one).Seconds(), "growth/start")
	b.ReportMetric(measure.Median(healed).Seconds(), "s/heal")
	b.ReportMetric(measure.Median(healed).Seconds()/measure.Median(floor).Seconds(), "heal/statefulset")
	b.ReportMetric(0, "ns/op") // ns/op has no meaning here
}

// startTime returns the time until the only Pod of a StatefulSet has its volume and is Ready.
func startTime(b *testing.B, c client.Client) time.Duration {
	b.Helper()
	namespace := newNamespace(b, c)
	defer dropNamespace(b, c, namespace)
	return readyPods(b, c, namespace, 1, statefulSet(namespace, 1)...)
}

func healTimeOfStatefulSet(b *testing.B, c client.Client) time.Duration {
	b.Helper()
	namespace := newNamespace(b, c)
	defer dropNamespace(b, c, namespace)
	readyPods(b, c, namespace, size, statefulSet(namespace, size)...)
	return healTime(b, c, namespace, size)
}

// changeTimes returns how long an EtcdCluster of three takes to grow, and then to be healthy after a Pod is deleted.
func changeTimes(b *testing.B, c client.Client) (growth, heal time.Duration) {
	b.Helper()
	namespace := newNamespace(b, c)
	defer dropNamespace(b, c, namespace)
	cluster := &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "example"},
		Spec:       v1beta2.EtcdClusterSpec{Size: size},
	}
	if err := c.Create(b.Context(), cluster); err != nil {
		b.Fatal(err)
	}
	awaitReady(b, c, cluster)
	began := time.Now()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"size":%d}}`, grown))
	if err := c.Patch(b.Context(), cluster, patch); err != nil {
		b.Fatal(err)
	}
	awaitReady(b, c, cluster)
	growth = time.Since(began)
	return growth, healTime(b, c, namespace, grown)
}

// healTime deletes a Pod and returns the time until so many Pods are Ready and it is none of them.
func healTime(b *testing.B, c client.Client, namespace string, wanted int) time.Duration {
	b.Helper()
	var pods corev1.PodList
	if err := c.List(b.Context(), &pods, client.InNamespace(namespace)); err != nil {
		b.Fatal(err)
	}
	deleted := pods.Items[0].UID
	began := time.Now()
	if err := c.Delete(b.Context(), &pods.Items[0]); err != nil {
		b.Fatal(err)
	}
	await(b, "all Pods are Ready again", func(ctx context.Context) error {
		var list corev1.PodList
		if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
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
