package killer_test

import (
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/podrunner"
)

// TestAClusterLivesOnIPv6Alone runs the life of a cluster with certificates whose Pods have IPv6 addresses only. If an address
// is put into a URL without brackets, or if a listener accepts IPv4 only, users of such a Kubernetes cannot create or heal
// clusters.
func TestAClusterLivesOnIPv6Alone(t *testing.T) {
	t.Parallel()
	b := newBenchOn(t, podrunner.StartIPv6, v1beta2.EtcdClusterSpec{Size: 3, Version: older, TLS: &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}})
	b.traffic.run()
	kubetest.Create(t, b.cluster)
	b.step("forming a cluster", func(b *bench) { b.operate(&killer.Count{}, "form a cluster", b.isReady) })
	for _, pod := range b.list() {
		if address, err := netip.ParseAddr(pod.Status.PodIP); err != nil || !address.Is6() {
			t.Fatalf("Pod %s has the address %q, expected an IPv6 address", pod.Name, pod.Status.PodIP)
		}
	}
	b.step("replacing a member whose volume was deleted", func(b *bench) {
		lost := b.cluster.Status.MemberStatuses[0]
		b.delete(&corev1.PersistentVolumeClaim{}, lost.Name)
		b.delete(&corev1.Pod{}, lost.Name)
		b.operate(&killer.Count{}, "replace the member", func() error { return b.goneAndReady(lost) })
	})
	b.step("upgrading and growing", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Version, spec.Size = newer, 4 })
		b.operate(&killer.Count{}, "upgrade and grow", b.isReady)
	})
	b.check()
}
