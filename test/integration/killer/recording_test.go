//go:build record

package killer_test

import (
	"context"
	"crypto/tls"
	"flag"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/podrunner"
)

var recording = flag.String("killer.record", "", "the file to which TestRecordMetrics writes its recording; make record sets it")

// TestRecordMetrics records the metrics of a cluster's life for test/alerts. Other runs do not need it, because the recording is in the
// repository, and test/alerts replays it in each run.
func TestRecordMetrics(t *testing.T) {
	if *recording == "" {
		t.Fatal("set -killer.record to the file of the recording")
	}
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: 3, Version: older, TLS: &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}})
	r := record(b)
	t.Cleanup(func() { // a recording that ends early shows why
		if err := r.write(*recording); err != nil {
			t.Error(err)
		}
	})
	b.runRecorded(r)
	b.traffic.run()
	ready := func(what string, change func(*v1beta2.EtcdClusterSpec)) {
		r.step(what)
		b.change(change)
		b.awaitReady()
		pause(t.Context(), 3*time.Second)
	}
	r.step("create")
	kubetest.Create(t, b.cluster)
	b.awaitReady()
	r.step("serve")
	pause(t.Context(), 10*time.Second)
	ready("upgrade", func(spec *v1beta2.EtcdClusterSpec) { spec.Version = newer })
	ready("scale up", func(spec *v1beta2.EtcdClusterSpec) { spec.Size = 5 })
	ready("scale down", func(spec *v1beta2.EtcdClusterSpec) { spec.Size = 3 })
	ready("hibernate", func(spec *v1beta2.EtcdClusterSpec) { spec.Hibernate = true })
	pause(t.Context(), 15*time.Second)
	ready("wake", func(spec *v1beta2.EtcdClusterSpec) { spec.Hibernate = false })
	r.step("pause")
	b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Paused = true })
	b.delete(&corev1.Pod{}, b.cluster.Status.MemberStatuses[0].Name)
	pause(t.Context(), 15*time.Second)
	ready("resume", func(spec *v1beta2.EtcdClusterSpec) { spec.Paused = false })
	pause(t.Context(), 10*time.Second)
	r.step("lose quorum")
	for _, m := range b.cluster.Status.MemberStatuses[:2] {
		b.delete(&corev1.PersistentVolumeClaim{}, m.Name)
		b.delete(&corev1.Pod{}, m.Name)
	}
	kubetest.Eventually(t, "the lost quorum is reported", func(context.Context) error { return b.says(v1beta2.ReasonQuorumLost, "") })
	pause(t.Context(), 45*time.Second)
}

// runRecorded runs cluster-operator in a manager with its metrics.
func (b *bench) runRecorded(r *tape) {
	b.Helper()
	if err := operator.RegisterBuildInfo(r.own, cluster.Name); err != nil {
		b.Fatal(err)
	}
	kubetest.RunManager(quiet{b.T}, b.cluster.Namespace, func(_ context.Context, mgr manager.Manager) error {
		return cluster.Setup(mgr, cluster.Options{
			SeedImage: podrunner.SeedImage, Metrics: r.own,
			Dial: func(endpoint etcd.Endpoint, config *tls.Config) (members.Etcd, error) {
				return etcd.Open(endpoint, config)
			},
		})
	})
}
