package ready

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/test/bench/measure"
)

// grown is the size that the benchmark grows a cluster to.
const grown = 5

// settling is how long members have run when the cluster grows. etcd adds no member until its members have been connected for 5 s
// (HealthInterval in etcdserver), so a cluster that has just formed grows up to 4 s later.
const settling = 12 * time.Second

// BenchmarkReadyAfterGrowth measures how long an EtcdCluster takes to grow from three to five members, compared with one
// volume and start: a StatefulSet with one Pod.
func BenchmarkReadyAfterGrowth(b *testing.B) {
	c := installed(b, programs...).Client
	var one, growth []time.Duration
	for round := range rounds(b) {
		one = append(one, startTime(b, c))
		growth = append(growth, growthTime(b, c))
		b.Logf("round %d: one volume and start %s, 3 to 5 members %s", round, one[round], growth[round])
	}
	b.ReportMetric(measure.Median(one).Seconds(), "s/start")
	b.ReportMetric(measure.Median(growth).Seconds(), "s/growth")
	b.ReportMetric(measure.Median(growth).Seconds()/measure.Median(one).Seconds(), "growth/start")
	b.ReportMetric(0, "ns/op") // ns/op has no meaning here
}

// startTime returns the time until the only Pod of a StatefulSet has its volume and is Ready.
func startTime(b *testing.B, c client.Client) time.Duration {
	b.Helper()
	namespace := newNamespace(b, c)
	defer dropNamespace(b, c, namespace)
	return readyPods(b, c, namespace, 1, statefulSet(namespace, "bare", 1)...)
}

// growthTime returns how long an EtcdCluster of three takes until it reports five Ready members.
func growthTime(b *testing.B, c client.Client) time.Duration {
	b.Helper()
	namespace := newNamespace(b, c)
	defer dropNamespace(b, c, namespace)
	cluster := etcdCluster(namespace, "example")
	if err := c.Create(b.Context(), cluster); err != nil {
		b.Fatal(err)
	}
	awaitReady(b, c, cluster)
	await(b, "the provisioner is idle", func(ctx context.Context) error { return provisionerIdle(ctx, c) })
	await(b, "the members have run for "+settling.String(), func(ctx context.Context) error { return settled(ctx, c, namespace) })
	began := time.Now()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"size":%d}}`, grown))
	if err := c.Patch(b.Context(), cluster, patch); err != nil {
		b.Fatal(err)
	}
	awaitReady(b, c, cluster)
	return time.Since(began)
}

// settled returns an error while a Pod of the namespace has been ready for less than settling.
func settled(ctx context.Context, c client.Client, namespace string) error {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return err
	}
	for _, pod := range pods.Items {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && time.Since(condition.LastTransitionTime.Time) < settling {
				return fmt.Errorf("Pod %s has been ready since %s", pod.Name, condition.LastTransitionTime)
			}
		}
	}
	return nil
}
