package killer_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// TestAnOperatorThatDiesWhileItReplacesMembersLosesNothingThatWasInTheirPods: their data goes with their Pods, so
// that each has to be replaced before it goes.
func TestAnOperatorThatDiesWhileItReplacesMembersLosesNothingThatWasInTheirPods(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{
		Size: 3, Version: older, Pod: &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}},
	})
	b.traffic.run()
	kubetest.Create(t, b.cluster)
	b.operate(&killer.Count{}, "form a cluster", b.settled)
	born := b.cluster.Status.ClusterID

	b.step("another version", func(b *bench) {
		before := b.cluster.Status.MemberStatuses
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Version = newer })
		b.killed(b.settled)
		b.noneLeft(before)
	})
	if b.cluster.Status.ClusterID != born || b.cluster.Status.CurrentVersion != newer {
		t.Errorf("cluster %s of %s, born as %s", b.cluster.Status.ClusterID, b.cluster.Status.CurrentVersion, born)
	}
}

// noneLeft fails the test if one of those members is.
func (b *bench) noneLeft(before []v1beta2.MemberStatus) {
	b.Helper()
	for _, gone := range before {
		if err := b.goneAndSettled(gone); err != nil {
			b.Error(err)
		}
	}
}
