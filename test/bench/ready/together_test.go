package ready

import (
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/bench/measure"
)

// together is how many clusters the benchmark creates at once.
const together = 5

// BenchmarkReadyTogether compares the time until five EtcdClusters that are created at once are Ready with that of five
// StatefulSets. Both have 15 Pods in one namespace.
func BenchmarkReadyTogether(b *testing.B) {
	c := installed(b, programs...).Client
	var floor, pods, clusters []time.Duration
	for round := range rounds(b) {
		for turn := range 2 {
			if turn == round%2 {
				floor = append(floor, statefulSetsTime(b, c))
				continue
			}
			members, ready := clustersTime(b, c)
			pods, clusters = append(pods, members), append(clusters, ready)
		}
		b.Logf("round %d: %d StatefulSets ready after %s; Pods of %d EtcdClusters after %s, EtcdClusters after %s", round, together, floor[round], together, pods[round], clusters[round])
	}
	b.ReportMetric(measure.Median(floor).Seconds(), "s/statefulsets")
	b.ReportMetric(measure.Median(clusters).Seconds(), "s/clusters")
	b.ReportMetric(measure.Median(pods).Seconds()/measure.Median(floor).Seconds(), "members/statefulsets")
	b.ReportMetric(measure.Median(clusters).Seconds()/measure.Median(floor).Seconds(), "clusters/statefulsets")
	b.ReportMetric(0, "ns/op") // ns/op has no meaning here
}

// statefulSetsTime returns the time until all Pods of the StatefulSets are Ready.
func statefulSetsTime(b *testing.B, c client.Client) time.Duration {
	b.Helper()
	namespace := newNamespace(b, c)
	defer dropNamespace(b, c, namespace)
	var objects []client.Object
	for i := range together {
		objects = append(objects, statefulSet(namespace, fmt.Sprintf("bare-%d", i), size)...)
	}
	return readyPods(b, c, namespace, together*size, objects...)
}

// clustersTime returns the time until the Pods of all EtcdClusters are Ready, and until the EtcdClusters are.
func clustersTime(b *testing.B, c client.Client) (members, ready time.Duration) {
	b.Helper()
	namespace := newNamespace(b, c)
	defer dropNamespace(b, c, namespace)
	var objects []client.Object
	for i := range together {
		objects = append(objects, etcdCluster(namespace, fmt.Sprintf("example-%d", i)))
	}
	began := time.Now()
	members = readyPods(b, c, namespace, together*size, objects...)
	for _, object := range objects {
		if cluster, ok := object.(*v1beta2.EtcdCluster); ok {
			awaitReady(b, c, cluster)
		}
	}
	return members, time.Since(began)
}
