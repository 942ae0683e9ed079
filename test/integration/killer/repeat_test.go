package killer_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// TestRestoresAreRepeatedOnlyWithConsent begins with the objects that coreos/etcd-operator v0.9.4 left. Its CRDs had no
// status subresource and no conditions, and a restore had the name of its cluster.
func TestRestoresAreRepeatedOnlyWithConsent(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: 1, Version: newer})
	kubetest.Create(t, b.cluster, store.secret(b.cluster.Namespace))
	stop := b.traffic.run()
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	stop()
	saved := b.contents()
	store.put(t, "good.db", b.save())
	original := b.cluster.Status.ClusterID

	b.step("a restore that the archived operator finished does nothing", func(b *bench) {
		succeeded, refused := store.restore(b.cluster, b.cluster.Name, "good.db"), store.restore(b.cluster, "example-old", "good.db")
		backup := &v1beta2.EtcdBackup{}
		backup.Namespace, backup.Name = b.cluster.Namespace, "example"
		backup.Spec = v1beta2.EtcdBackupSpec{EtcdEndpoints: []string{"http://example-client:2379"}, StorageType: v1beta2.StorageS3, Storage: succeeded.Spec.Storage}
		kubetest.Create(b, succeeded, refused, backup)
		b.left(succeeded, `{"status":{"observedGeneration":null,"succeeded":true}}`)
		b.left(refused, `{"status":{"observedGeneration":null,"succeeded":false,"reason":"no such key"}}`)
		b.left(backup, `{"status":{"observedGeneration":null,"succeeded":true,"etcdVersion":"3.2.13","etcdRevision":7}}`)
		b.both("report the earlier restores", func() error {
			return errors.Join(b.isReady(), b.is(succeeded, v1beta2.ConditionComplete), b.is(refused, v1beta2.ConditionFailed))
		})
		if b.cluster.Status.ClusterID != original || b.cluster.Status.Incarnation != 1 || succeeded.Status.Snapshot != nil || refused.Status.Snapshot != nil {
			b.Errorf("the cluster has ID %s, was %s; the restores have read %+v and %+v", b.cluster.Status.ClusterID, original, succeeded.Status.Snapshot, refused.Status.Snapshot)
		}
	})
	revision := int64(0)
	restores := func(b *bench, r *v1beta2.EtcdRestore) {
		b.Helper()
		kubetest.Create(b, r)
		b.both("restore", func() error { return errors.Join(b.isReady(), b.is(r, v1beta2.ConditionComplete)) })
		if r.Status.RestoredRevision <= revision {
			b.Errorf("the revision went from %d to %d", revision, r.Status.RestoredRevision)
		}
		if seen := b.contents(); !maps.Equal(seen, saved) {
			b.Errorf("the restored cluster has %d keys, expected %d", len(seen), len(saved))
		}
		if safety := r.Status.SafetySnapshot; safety == nil || safety.Result != v1beta2.SafetySnapshotTaken || safety.Revision < revision {
			b.Errorf("the safety snapshot is %+v", safety)
		}
		revision = r.Status.RestoredRevision
	}
	b.step("the revision rises with each restore of the same snapshot", func(b *bench) {
		restores(b, store.restore(b.cluster, "first", "good.db"))
		restores(b, store.restore(b.cluster, "second", "good.db"))
	})
	b.step("a restore that comes back is refused", func(b *bench) {
		before := b.cluster.Status.ClusterID
		b.deleteRestore("first")
		again := store.restore(b.cluster, "first", "good.db")
		kubetest.Create(b, again)
		b.both("refuse the restore", func() error { return errors.Join(b.isReady(), b.is(again, v1beta2.ConditionFailed)) })
		failed := meta.FindStatusCondition(again.Status.Conditions, v1beta2.ConditionFailed)
		if failed.Reason != v1beta2.ReasonRestoreRefused || !strings.Contains(failed.Message, fmt.Sprintf("spec.replaces: %q", before)) || b.cluster.Status.ClusterID != before {
			b.Errorf("the cluster has ID %s, was %s: %s: %s", b.cluster.Status.ClusterID, before, failed.Reason, failed.Message)
		}
		b.statusNames("restore-repeated", fmt.Sprintf("spec.replaces: %q", before), "apply an EtcdRestore of another name")
	})
	b.step("and is carried out with spec.replaces", func(b *bench) {
		b.deleteRestore("first")
		again := store.restore(b.cluster, "first", "good.db")
		again.Spec.Replaces = b.cluster.Status.ClusterID
		restores(b, again)
	})
}

// left patches the status to what the archived operator left.
func (b *bench) left(object client.Object, status string) {
	b.Helper()
	if err := b.client.Status().Patch(b.Context(), object, client.RawPatch(types.MergePatchType, []byte(status))); err != nil {
		b.Fatal(err)
	}
}

// both runs both operators without kills until met returns no error.
func (b *bench) both(what string, met func() error) {
	b.Helper()
	restorer := b.restoreOperator(&killer.Count{})
	defer restorer.stop()
	b.operate(&killer.Count{}, what, met)
}
