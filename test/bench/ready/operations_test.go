package ready

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// quiet is how long the client writes while nothing happens.
const quiet = 10 * time.Second

// operation is a change of a cluster while a client writes. A change that a StatefulSet cannot do has no bare one.
type operation struct {
	name          string
	cluster, bare func(b *testing.B, suite *stack.Stack, namespace string)
}

// operations are done one after the other. The cluster begins with etcd 3.5.
var operations = []operation{
	{"nothing", wait, wait},
	{"each Pod deleted", deletePods, deletePods},
	{"rolling restart", patchCluster(`{"spec":{"pod":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}`), patchBare(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`)},
	{"upgrade from 3.5 to 3.6", patchCluster(`{"spec":{"version":%q}}`, stack.EtcdVersions["etcd-3.6"]), patchBare(`{"spec":{"template":{"spec":{"containers":[{"name":"etcd","image":%q}]}}}}`, imageOf("etcd-3.6"))},
	{"three to five members", patchCluster(`{"spec":{"size":5}}`), nil},
	{"five to three members", patchCluster(`{"spec":{"size":3}}`), nil},
}

// seen is what a client saw during one operation, in all rounds.
type seen struct {
	latencies, gaps []time.Duration
	failed          int
}

// BenchmarkReadyOperations measures the latency and the longest gap of a client that writes during each operation, with an
// EtcdCluster and with a StatefulSet.
func BenchmarkReadyOperations(b *testing.B) {
	suite := installed(b, append(slices.Clone(programs), "etcd-3.5")...)
	cluster, bare := make([]seen, len(operations)), make([]seen, len(operations))
	for round := range rounds(b) {
		for turn := range 2 {
			if turn == round%2 {
				duringOperations(b, suite, "bare", bare)
			} else {
				duringOperations(b, suite, "example", cluster)
			}
		}
	}
	for i, op := range operations {
		b.Logf("%s: EtcdCluster %s", op.name, cluster[i])
		if op.bare != nil {
			b.Logf("%s: StatefulSet %s", op.name, bare[i])
		}
	}
	b.ReportMetric(0, "ns/op") // ns/op has no meaning here
}

// String returns the row of a table.
func (s seen) String() string {
	slices.Sort(s.latencies)
	at := func(part float64) time.Duration {
		return s.latencies[int(part*float64(len(s.latencies)-1))].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %s, p99 %s, longest gaps %s, %d of %d writes failed", at(0.5), at(0.99), rounded(s.gaps), s.failed, s.failed+len(s.latencies))
}

// duringOperations does all operations with one cluster, and adds what a client saw.
func duringOperations(b *testing.B, suite *stack.Stack, name string, saw []seen) {
	b.Helper()
	namespace := newNamespace(b, suite.Client)
	defer dropNamespace(b, suite.Client, namespace)
	if name == "bare" {
		readyPods(b, suite.Client, namespace, size, append(statefulSetOf(namespace, name, size, imageOf("etcd-3.5")), serviceOf(namespace, name))...)
	} else {
		object := etcdCluster(namespace, name)
		object.Spec.Version = stack.EtcdVersions["etcd-3.5"]
		if err := suite.Client.Create(b.Context(), object); err != nil {
			b.Fatal(err)
		}
		awaitReady(b, suite.Client, object)
	}
	etcd, err := suite.Etcd(b.Context(), namespace, name, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer etcd.Close()
	for i, op := range operations {
		do := op.cluster
		if name == "bare" {
			do = op.bare
		}
		if do != nil {
			saw[i].add(b, etcd, func() { do(b, suite, namespace) })
		}
	}
}

// add does something while a client writes.
func (s *seen) add(b *testing.B, etcd *clientv3.Client, do func()) {
	b.Helper()
	writer := startWriter(b.Context(), etcd)
	do()
	writer.stop()
	if len(writer.latencies) == 0 {
		b.Fatal("no write was acknowledged")
	}
	s.latencies, s.gaps, s.failed = append(s.latencies, writer.latencies...), append(s.gaps, writer.gap.length()), s.failed+writer.failed
}

func imageOf(module string) string {
	return (&v1beta2.EtcdClusterSpec{Version: stack.EtcdVersions[module]}).Image()
}

func wait(b *testing.B, _ *stack.Stack, _ string) {
	b.Helper()
	select {
	case <-b.Context().Done():
	case <-time.After(quiet):
	}
}

// deletePods deletes each Pod, and waits until all are Ready again.
func deletePods(b *testing.B, suite *stack.Stack, namespace string) {
	b.Helper()
	var pods corev1.PodList
	if err := suite.Client.List(b.Context(), &pods, client.InNamespace(namespace)); err != nil {
		b.Fatal(err)
	}
	for i := range pods.Items {
		healTime(b, suite.Client, &pods.Items[i], len(pods.Items))
	}
}

// patchCluster returns a function that patches the EtcdCluster and waits until it is Ready.
func patchCluster(format string, values ...any) func(*testing.B, *stack.Stack, string) {
	return func(b *testing.B, suite *stack.Stack, namespace string) {
		b.Helper()
		object := etcdCluster(namespace, "example")
		if err := suite.Client.Patch(b.Context(), object, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, values...))); err != nil {
			b.Fatal(err)
		}
		awaitReady(b, suite.Client, object)
	}
}

// patchBare returns a function that patches the StatefulSet and waits until all its Pods are new and Ready.
func patchBare(format string, values ...any) func(*testing.B, *stack.Stack, string) {
	return func(b *testing.B, suite *stack.Stack, namespace string) {
		b.Helper()
		set := &appsv1.StatefulSet{}
		set.Namespace, set.Name = namespace, "bare"
		if err := suite.Client.Patch(b.Context(), set, client.RawPatch(types.StrategicMergePatchType, fmt.Appendf(nil, format, values...))); err != nil {
			b.Fatal(err)
		}
		await(b, "the StatefulSet is rolled out", func(ctx context.Context) error {
			if err := suite.Client.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
				return err
			}
			status := set.Status
			if status.ObservedGeneration != set.Generation || status.UpdatedReplicas != size || status.ReadyReplicas != size || status.CurrentRevision != status.UpdateRevision {
				return errors.New("it is being rolled out")
			}
			return nil
		})
	}
}

// rounded returns times that are easier to read.
func rounded(times []time.Duration) []time.Duration {
	short := make([]time.Duration, len(times))
	for i, t := range times {
		short[i] = t.Round(10 * time.Millisecond)
	}
	return short
}
