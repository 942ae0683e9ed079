package killer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// TestDefragmentationExpansionAndRepairSucceedIfTheOperatorIsKilledAtEveryCall runs the maintenance of a running cluster:
// defragmentation, larger volumes, and the replacement of a member with silent corruption.
func TestDefragmentationExpansionAndRepairSucceedIfTheOperatorIsKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{
		Size: 3, Version: newer,
		// etcd compares hashes after a compaction each second instead of each minute.
		Pod: &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_COMPACT_HASH_CHECK_TIME", Value: "1s"}}},
	})
	b.traffic.run()
	kubetest.Create(t, b.cluster)
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	original, ids, pods := b.cluster.Status.ClusterID, memberIDs(b.cluster), b.uids()

	b.step("defragmenting databases with free space", func(b *bench) {
		b.writeAndCompact()
		b.change(func(spec *v1beta2.EtcdClusterSpec) {
			spec.Defragmentation = &v1beta2.DefragmentationPolicy{FreePercent: ptr.To[int32](30), MinimumSize: ptr.To(resource.MustParse("1Mi"))}
		})
		b.convergeWithKills(b.defragmented)
	})
	b.step("defragmenting on a schedule", func(b *bench) {
		missed := b.simulateMissedRun("0 0 1 1 *")
		b.convergeWithKills(func() error { return b.defragmentedSince(missed) })
	})
	b.step("requesting larger volumes than the driver can provide, and then smaller ones", func(b *bench) {
		driver := &driver{bench: b, room: resource.MustParse("20Gi")}
		b.afterKill = driver.wait
		b.requestVolumeSize("40Gi")
		b.operate(&killer.Chain{}, "report that the driver cannot expand the volume", func() error {
			_ = driver.act()
			return b.says(v1beta2.ReasonVolumeCannotGrow, "ControllerResizeInfeasible")
		})
		b.statusNames("driver-without-space", "ControllerResizeInfeasible", "The driver has not enough space")
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Pod.PersistentVolumeClaimSpec = nil })
		b.operate(&killer.Chain{}, "accept the present size", b.isReady)
		b.requestVolumeSize("20Gi")
		b.convergeWithKills(func() error { return errors.Join(driver.act(), b.isReady()) })
		b.volumesHave(driver.room)
	})
	if diff := cmp.Diff(pods, b.uids()); diff != "" || memberIDs(b.cluster) != ids {
		t.Errorf("the steps replaced or restarted members: %s became %s; Pods (-before +after):\n%s", ids, memberIDs(b.cluster), diff)
	}
	b.step("replacing a leader with silent corruption", func(b *bench) {
		victim := b.leader()
		b.damage(victim)
		b.compact()
		kubetest.Eventually(b, "etcd detects the corruption", func(ctx context.Context) error {
			if alarms, err := b.alarms(ctx); err != nil || alarms == 0 {
				return fmt.Errorf("no alarm is raised: %w", err)
			}
			return nil
		})
		b.afterKill = func() { b.volumeKeptUntilReplaced(victim) }
		b.convergeWithKills(func() error { return b.goneAndReady(victim) })
		b.membersAgree()
	})
	if b.cluster.Status.ClusterID != original || b.cluster.Status.Incarnation != 1 {
		t.Errorf("the cluster ID changed from %s to %s (incarnation %d): the data is lost", original, b.cluster.Status.ClusterID, b.cluster.Status.Incarnation)
	}
}

// history is the number of writes of half a MiB that create history.
const history = 12

// writeAndCompact leaves every member with a database that is mostly free space.
func (b *bench) writeAndCompact() {
	b.Helper()
	for range history {
		b.callAnyMember("kv/put", map[string]any{"key": []byte("history"), "value": []byte(filling)})
	}
	b.callAnyMember("kv/put", map[string]any{"key": []byte("history"), "value": []byte("")})
	b.compact()
}

// compact removes all revisions except the current one.
func (b *bench) compact() {
	b.Helper()
	err := errors.New("the client Service selects no ready member")
	for _, pod := range b.traffic.selected(b.Context()) {
		var now struct{ Header struct{ Revision string } }
		if err = b.traffic.post(b.Context(), pod, "kv/range", map[string]any{"key": []byte("history")}, &now); err == nil {
			b.callAnyMember("kv/compaction", map[string]any{"revision": now.Header.Revision})
			return
		}
	}
	b.Fatal(err)
}

// defragmented returns no error if the cluster is Ready and every member's database is small.
func (b *bench) defragmented() error {
	err := b.isReady()
	for _, m := range b.cluster.Status.MemberStatuses {
		if m.DBSize > history*int64(len(filling))/2 {
			err = errors.Join(err, fmt.Errorf("the database of member %s has %d bytes", m.Name, m.DBSize))
		}
	}
	return err
}

// simulateMissedRun sets a schedule and a status whose last run was two years ago.
func (b *bench) simulateMissedRun(schedule string) (last time.Time) {
	b.Helper()
	last = time.Now().AddDate(-2, 0, 0).Truncate(time.Second)
	b.change(func(spec *v1beta2.EtcdClusterSpec) {
		spec.Defragmentation = &v1beta2.DefragmentationPolicy{Schedule: schedule}
	})
	before := b.cluster.DeepCopy()
	b.cluster.Status.Defragmentation = &v1beta2.DefragmentationStatus{Schedule: schedule, LastScheduleTime: ptr.To(metav1.NewTime(last))}
	for i := range b.cluster.Status.MemberStatuses {
		b.cluster.Status.MemberStatuses[i].DefragmentedAt = ptr.To(metav1.NewTime(last))
	}
	if err := b.client.Status().Patch(b.Context(), b.cluster, client.MergeFrom(before)); err != nil {
		b.Fatal(err)
	}
	return last
}

// defragmentedSince returns no error if the cluster is Ready and a run after that time is complete. It fails the test if
// the run skipped a member. An operator that forgets after a kill which members it has defragmented never completes a run.
func (b *bench) defragmentedSince(last time.Time) error {
	if err := b.isReady(); err != nil {
		return err
	}
	run := b.cluster.Status.Defragmentation
	if run == nil || !run.LastScheduleTime.After(last) {
		return fmt.Errorf("no run is complete since %s: %+v", last, run)
	}
	for _, m := range b.cluster.Status.MemberStatuses {
		if m.DefragmentedAt == nil || m.DefragmentedAt.Before(run.LastScheduleTime) {
			b.Errorf("the run is complete, but it skipped member %s", m.Name)
		}
	}
	return nil
}
