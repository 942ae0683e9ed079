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

// Versions as spec.version takes them: the patch releases that stand behind the programs do not matter here.
const (
	older  = "3.5.35"
	newer  = "3.6.16"
	newest = "3.7.3"
)

// TestAnOperatorThatDiesAtEveryCallLosesNothing takes one cluster through its life. In each operation the operator
// is killed before and after each of its API writes and calls of etcd, while a client writes.
func TestAnOperatorThatDiesAtEveryCallLosesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: 3, Version: older})
	b.traffic.run()
	kubetest.Create(t, b.cluster)
	b.step("forming a cluster", func(b *bench) { b.killed(b.settled) })
	born := b.cluster.Status.ClusterID

	b.step("replacing a member whose volume is gone", func(b *bench) {
		lost := b.cluster.Status.MemberStatuses[0]
		b.delete(&corev1.PersistentVolumeClaim{}, lost.Name)
		b.delete(&corev1.Pod{}, lost.Name)
		b.killed(func() error { return b.goneAndSettled(lost) })
	})
	b.step("upgrading to the next minor version", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Version = newer })
		b.killed(b.settled)
		if b.cluster.Status.CurrentVersion != newer {
			t.Errorf("version %s", b.cluster.Status.CurrentVersion)
		}
	})
	b.step("shrinking from three to one", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Size = 1 })
		b.killed(b.settled)
	})
	b.step("growing from one to three", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Size = 3 })
		b.killed(b.settled)
	})
	b.step("sleeping and waking up", func(b *bench) {
		awake := members(b.cluster)
		b.traffic.still(func() {
			b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Hibernate = true })
			b.operate(&killer.Chain{}, "go to sleep", b.settled)
			if pods, volumes := b.list(), b.claims(); len(pods) != 0 || len(volumes) != 3 {
				t.Errorf("asleep with %d Pods and %d volumes", len(pods), len(volumes))
			}
		})
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Hibernate = false })
		b.killed(b.settled)
		if again := members(b.cluster); again != awake {
			t.Errorf("members were %s, and are %s", awake, again)
		}
	})
	if b.cluster.Status.ClusterID != born || b.cluster.Status.Incarnation != 1 {
		t.Errorf("it is another cluster: %s, incarnation %d, born as %s", b.cluster.Status.ClusterID, b.cluster.Status.Incarnation, born)
	}
}

// TestAnOperatorThatDiesAtEveryCallChangesItsMembersAndGoesOnFromTheLast does so where members are made again as
// something else, and where but one is left.
func TestAnOperatorThatDiesAtEveryCallChangesItsMembersAndGoesOnFromTheLast(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: 3, Version: newer})
	b.traffic.run()
	kubetest.Create(t, b.cluster)
	b.operate(&killer.Count{}, "form a cluster", b.settled)
	born := members(b.cluster)

	b.step("giving its Pods another environment", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) {
			spec.Pod = &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_LOG_LEVEL", Value: "warn"}}}
		})
		b.killed(b.settled)
	})
	b.step("giving its Pods other labels", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Pod.Labels = map[string]string{"tier": "data"} })
		b.killed(b.settled)
	})
	for _, version := range []string{newest, newer} {
		b.step("bringing it to "+version, func(b *bench) {
			b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Version = version })
			b.killed(b.settled)
			if b.cluster.Status.CurrentVersion != version {
				t.Errorf("version %s", b.cluster.Status.CurrentVersion)
			}
		})
	}
	if after := members(b.cluster); after != born {
		t.Errorf("members were %s, and are %s", born, after)
	}
	b.step("going on from the last member by consent", func(b *bench) {
		survivor := ""
		b.traffic.still(func() { // so that the leader holds every write that the client was told of
			for _, m := range b.cluster.Status.MemberStatuses {
				if m.Role == v1beta2.MemberLeader {
					survivor = m.ID
					continue
				}
				b.delete(&corev1.PersistentVolumeClaim{}, m.Name)
				b.delete(&corev1.Pod{}, m.Name)
			}
			b.operate(&killer.Count{}, "say that quorum is lost", func() error { return b.says(v1beta2.ReasonQuorumLost, "ForceNewCluster") })
		})
		b.change(func(spec *v1beta2.EtcdClusterSpec) {
			spec.Recovery = &v1beta2.RecoveryPolicy{QuorumLoss: v1beta2.QuorumLossForceNewCluster}
		})
		b.killed(b.settled)
		if !strings.Contains(members(b.cluster), "="+survivor+" ") {
			b.Errorf("survivor %s is not among %s", survivor, members(b.cluster))
		}
	})
}

// step is one operation of a life; what follows needs it.
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

// goneAndSettled has no error when the cluster is ready without a member. Its name may be another's by then.
func (b *bench) goneAndSettled(gone v1beta2.MemberStatus) error {
	if err := b.settled(); err != nil {
		return err
	}
	if slices.ContainsFunc(b.cluster.Status.MemberStatuses, func(m v1beta2.MemberStatus) bool { return m.ID == gone.ID }) {
		return errors.New("member " + gone.ID + " is still there")
	}
	return nil
}
