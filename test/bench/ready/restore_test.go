package ready

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/bench/measure"
	"github.com/etcd-suite/etcd-operator/test/stack"
)

// restores is how many restores the benchmark does, unless BENCH_RESTORES is set.
const restores = 10

// BenchmarkReadyAfterRestore restores a snapshot in place again and again, while a client writes. It reports the times without
// an acknowledged write, and where they were spent. With BENCH_TLS=1 the cluster has managed TLS, and BENCH_MIB is the size of its database.
func BenchmarkReadyAfterRestore(b *testing.B) {
	suite := installed(b, append(slices.Clone(programs), "versitygw")...)
	if _, err := suite.StartS3(b.Context()); err != nil {
		b.Fatal(err)
	}
	namespace := newNamespace(b, suite.Client)
	defer dropNamespace(b, suite.Client, namespace)
	etcd, config := saved(b, suite, namespace)
	defer etcd.Close()
	var gaps, outages []time.Duration
	for run := range measure.Setting(b, "BENCH_RESTORES", restores) {
		spent := restoreOnce(b, suite, etcd, config, namespace, fmt.Sprintf("back-%d", run))
		gaps, outages = append(gaps, spent.client.length()), append(outages, spent.service.length())
		b.Logf("run %d: %s", run, spent)
	}
	slices.Sort(gaps)
	slices.Sort(outages)
	b.Logf("sorted gaps of a client: %s", gaps)
	b.Logf("sorted outages for new connections: %s", outages)
	b.ReportMetric(measure.Median(gaps).Seconds(), "s/gap")
	b.ReportMetric(gaps[len(gaps)*9/10-1].Seconds(), "s/gap-9-of-10")
	b.ReportMetric(measure.Median(outages).Seconds(), "s/outage")
	b.ReportMetric(outages[len(outages)*9/10-1].Seconds(), "s/outage-9-of-10")
	b.ReportMetric(0, "ns/op") // ns/op has no meaning here
}

// source is where the snapshot is.
func source(namespace string) *v1beta2.S3Source {
	return &v1beta2.S3Source{
		Path: stack.Bucket + "/" + namespace + "/saved.db", AWSSecret: "s3-credentials",
		Endpoint: "http://s3.object-store.svc:7070", ForcePathStyle: true,
	}
}

// saved creates a cluster and a snapshot of it, and returns a client and its TLS configuration.
func saved(b *testing.B, suite *stack.Stack, namespace string) (*clientv3.Client, *tls.Config) {
	b.Helper()
	if _, err := suite.Kubectl(b.Context(), "-n", namespace, "apply", "-f", "examples/secret-s3.yaml"); err != nil {
		b.Fatal(err)
	}
	cluster, managed := etcdCluster(namespace, "example"), measure.Setting(b, "BENCH_TLS", 0) == 1
	if managed {
		cluster.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}
	}
	if err := suite.Client.Create(b.Context(), cluster); err != nil {
		b.Fatal(err)
	}
	awaitReady(b, suite.Client, cluster)
	var config *tls.Config
	var err error
	if managed {
		if config, err = suite.ClientTLS(b.Context(), namespace, "example"); err != nil {
			b.Fatal(err)
		}
		config.ServerName = "example-client." + namespace + ".svc"
	}
	etcd, err := suite.Etcd(b.Context(), namespace, "example", config)
	if err != nil {
		b.Fatal(err)
	}
	fill(b, etcd, measure.Setting(b, "BENCH_MIB", 0))
	backup := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "saved"}, Spec: v1beta2.EtcdBackupSpec{
		EtcdCluster: &v1beta2.ClusterReference{Name: "example"}, StorageType: v1beta2.StorageS3,
	}}
	backup.Spec.S3 = source(namespace)
	if err := suite.Client.Create(b.Context(), backup); err != nil {
		b.Fatal(err)
	}
	await(b, "the snapshot is complete", func(ctx context.Context) error {
		return complete(ctx, suite.Client, backup, &backup.Status.Conditions)
	})
	return etcd, config
}

// fill writes values of 1 MiB that cannot be compressed.
func fill(b *testing.B, etcd *clientv3.Client, mib int) {
	b.Helper()
	value := make([]byte, 1<<20)
	for i := range mib {
		_, _ = rand.Read(value)
		if _, err := etcd.Put(b.Context(), fmt.Sprintf("large/%d", i), string(value)); err != nil {
			b.Fatal(err)
		}
	}
}

// complete reads an object and returns an error unless its condition Complete is True.
func complete(ctx context.Context, c client.Client, object client.Object, conditions *[]metav1.Condition) error {
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	if !meta.IsStatusConditionTrue(*conditions, v1beta2.ConditionComplete) {
		return errors.New("it is not complete")
	}
	return nil
}

// restoreOnce restores the snapshot into the cluster while a client writes. It returns how the time of the outage was spent.
func restoreOnce(b *testing.B, suite *stack.Stack, etcd *clientv3.Client, config *tls.Config, namespace, name string) outage {
	b.Helper()
	restore := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1beta2.EtcdRestoreSpec{
		EtcdCluster: v1beta2.ClusterReference{Name: "example"}, BackupStorageType: v1beta2.StorageS3,
	}}
	restore.Spec.S3 = source(namespace)
	address, err := suite.Address(b.Context(), namespace, "example-client", v1beta2.ClientPort)
	if err != nil {
		b.Fatal(err)
	}
	watched := watchSwitch(b, suite, namespace)
	writer, newcomer := startWriter(b.Context(), etcd), startNewcomer(b.Context(), address, config)
	if err := suite.Client.Create(b.Context(), restore); err != nil {
		b.Fatal(err)
	}
	await(b, "the restore is complete", func(ctx context.Context) error {
		return complete(ctx, suite.Client, restore, &restore.Status.Conditions)
	})
	awaitReady(b, suite.Client, &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "example"}})
	writer.stop()
	newcomer.stop()
	spent := watched()
	spent.client, spent.service, spent.failed = writer.gap, newcomer.gap, writer.failed
	return spent
}

// outage is how the time of an outage was spent.
type outage struct {
	// client is the gap of a client that wrote all the time, and service that of new connections.
	client, service gap
	failed          int
	// asked is when the first old Pod was deleted, ended when the last one was reported to have ended, adopted when the status
	// named the new incarnation, and selected when the client Service selected it.
	asked, ended, adopted, selected time.Time
}

func (o outage) String() string {
	after := func(t time.Time) time.Duration { return t.Sub(o.asked).Round(time.Millisecond) }
	return fmt.Sprintf("gap %s, outage for new connections %s, %d failed writes; after the first deletion: last write acknowledged %s, all Pods ended %s, "+
		"status %s, Service %s, new connections served %s, next write acknowledged %s",
		o.client.length().Round(time.Millisecond), o.service.length().Round(time.Millisecond), o.failed,
		after(o.client.from), after(o.ended), after(o.adopted), after(o.selected), after(o.service.to), after(o.client.to))
}
