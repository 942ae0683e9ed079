package killer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// Values of spec.version. Only the minor version matters: Pods run the program of that minor version.
const (
	older  = "3.5.35"
	newer  = "3.6.16"
	newest = "3.7.3"
)

// TestNoDataIsLostIfTheOperatorIsKilledAtEveryCall runs several operations on one cluster. In each, it kills the operator
// before and after each of its API writes and calls of etcd, while a client writes.
func TestNoDataIsLostIfTheOperatorIsKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: 3, Version: older})
	b.traffic.run()
	kubetest.Create(t, b.cluster)
	b.step("forming a cluster", func(b *bench) { b.convergeWithKills(b.isReady) })
	original := b.cluster.Status.ClusterID

	b.step("replacing a member whose volume was deleted", func(b *bench) {
		lost := b.cluster.Status.MemberStatuses[0]
		b.delete(&corev1.PersistentVolumeClaim{}, lost.Name)
		b.delete(&corev1.Pod{}, lost.Name)
		b.convergeWithKills(func() error { return b.goneAndReady(lost) })
	})
	b.step("upgrading to the next minor version", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Version = newer })
		b.convergeWithKills(b.isReady)
		if b.cluster.Status.CurrentVersion != newer {
			t.Errorf("the status reports version %s, but the upgrade is complete", b.cluster.Status.CurrentVersion)
		}
	})
	b.step("shrinking from three to one", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Size = 1 })
		b.convergeWithKills(b.isReady)
	})
	b.step("growing from one to three", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Size = 3 })
		b.convergeWithKills(b.isReady)
	})
	b.step("hibernating and resuming", func(b *bench) {
		awake := memberIDs(b.cluster)
		b.traffic.paused(func() {
			b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Hibernate = true })
			b.operate(&killer.Chain{}, "hibernate the cluster", b.isReady)
			if pods, volumes := b.list(), b.claims(); len(pods) != 0 || len(volumes) != 3 {
				t.Errorf("the hibernated cluster has %d Pods and %d volumes, expected 0 and 3", len(pods), len(volumes))
			}
		})
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Hibernate = false })
		b.convergeWithKills(b.isReady)
		if again := memberIDs(b.cluster); again != awake {
			t.Errorf("hibernation changed the members from %s to %s", awake, again)
		}
	})
	if b.cluster.Status.ClusterID != original || b.cluster.Status.Incarnation != 1 {
		t.Errorf("the cluster ID changed from %s to %s (incarnation %d): the data is lost", original, b.cluster.Status.ClusterID, b.cluster.Status.Incarnation)
	}
}

// TestPodChangesAndQuorumRecoverySucceedIfTheOperatorIsKilledAtEveryCall changes the Pods of all members, and recovers a
// cluster of which only one member is left.
func TestPodChangesAndQuorumRecoverySucceedIfTheOperatorIsKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: 3, Version: newer})
	b.traffic.run()
	kubetest.Create(t, b.cluster)
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	original := memberIDs(b.cluster)

	b.step("changing the environment of the Pods", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) {
			spec.Pod = &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_LOG_LEVEL", Value: "warn"}}}
		})
		b.convergeWithKills(b.isReady)
	})
	b.step("changing the labels of the Pods", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Pod.Labels = map[string]string{"tier": "data"} })
		b.convergeWithKills(b.isReady)
	})
	for _, version := range []string{newest, newer} {
		b.step("changing the version to "+version, func(b *bench) {
			b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Version = version })
			b.convergeWithKills(b.isReady)
			if b.cluster.Status.CurrentVersion != version {
				t.Errorf("the status reports version %s, but the upgrade is complete", b.cluster.Status.CurrentVersion)
			}
		})
	}
	if after := memberIDs(b.cluster); after != original {
		t.Errorf("the changes replaced members: %s became %s", original, after)
	}
	b.step("recovering from the last member with consent", func(b *bench) {
		survivor := ""
		b.traffic.paused(func() { // so that the leader has every acknowledged write
			for _, m := range b.cluster.Status.MemberStatuses {
				if m.Role == v1beta2.MemberLeader {
					survivor = m.ID
					continue
				}
				b.delete(&corev1.PersistentVolumeClaim{}, m.Name)
				b.delete(&corev1.Pod{}, m.Name)
			}
			b.operate(&killer.Count{}, "report the lost quorum", func() error { return b.says(v1beta2.ReasonQuorumLost, "ForceNewCluster") })
			b.statusNames("quorum-lost", "1 of 3 voters have their data", "Recover what is down")
		})
		b.change(func(spec *v1beta2.EtcdClusterSpec) {
			spec.Recovery = &v1beta2.RecoveryPolicy{QuorumLoss: v1beta2.QuorumLossForceNewCluster}
		})
		b.convergeWithKills(b.isReady)
		if !strings.Contains(memberIDs(b.cluster), "="+survivor+" ") {
			b.Errorf("the surviving member %s was replaced; the members are %s", survivor, memberIDs(b.cluster))
		}
	})
}

// step runs one operation as a subtest. If it fails, the test ends, because later steps depend on it.
func (b *bench) step(name string, do func(*bench)) {
	b.Helper()
	ok := b.Run(name, func(t *testing.T) {
		inner := *b
		inner.T = t
		do(&inner)
	})
	if !ok {
		b.FailNow()
	}
}

func (b *bench) delete(object client.Object, name string) {
	b.Helper()
	object.SetNamespace(b.cluster.Namespace)
	object.SetName(name)
	if err := b.client.Delete(b.Context(), object); err != nil {
		b.Fatal(err)
	}
}

// goneAndReady returns no error if the cluster is Ready without a member. It compares IDs, because a new member may
// have the same name.
func (b *bench) goneAndReady(gone v1beta2.MemberStatus) error {
	if err := b.isReady(); err != nil {
		return err
	}
	if slices.ContainsFunc(b.cluster.Status.MemberStatuses, func(m v1beta2.MemberStatus) bool { return m.ID == gone.ID }) {
		return errors.New("member " + gone.ID + " is not removed yet")
	}
	return nil
}
