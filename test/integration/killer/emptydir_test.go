package killer_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// Members without volumes lose their data with their Pods, so the operator must replace each member before it deletes
// the Pod.
func TestMembersWithoutVolumesAreReplacedWithoutDataLossIfTheOperatorIsKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{
		Size: 3, Version: older, Pod: &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}},
	})
	b.traffic.run()
	kubetest.Create(t, b.cluster)
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	original := b.cluster.Status.ClusterID

	b.step("upgrading to the next minor version", func(b *bench) {
		before := b.cluster.Status.MemberStatuses
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Version = newer })
		b.convergeWithKills(b.isReady)
		b.allReplaced(before)
	})
	if b.cluster.Status.ClusterID != original || b.cluster.Status.CurrentVersion != newer {
		t.Errorf("the cluster has the ID %s and version %s, expected %s and %s", b.cluster.Status.ClusterID, b.cluster.Status.CurrentVersion, original, newer)
	}
}

// allReplaced fails the test if one of these members was not replaced.
func (b *bench) allReplaced(before []v1beta2.MemberStatus) {
	b.Helper()
	for _, gone := range before {
		if err := b.goneAndReady(gone); err != nil {
			b.Error(err)
		}
	}
}
