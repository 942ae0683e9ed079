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

// TestAnOperatorThatDiesAtEveryCallKeepsARunningClusterSmallRoomyAndSound has one cluster live through what a running
// one needs: space given back, larger volumes, and a member replaced whose disk changed a value in silence.
func TestAnOperatorThatDiesAtEveryCallKeepsARunningClusterSmallRoomyAndSound(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{
		Size: 3, Version: newer,
		// What a compaction leaves is compared each second, and not each minute.
		Pod: &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_COMPACT_HASH_CHECK_TIME", Value: "1s"}}},
	})
	b.traffic.run()
	kubetest.Create(t, b.cluster)
	b.operate(&killer.Count{}, "form a cluster", b.settled)
	born, ids, pods := b.cluster.Status.ClusterID, members(b.cluster), b.uids()

	b.step("giving free space back", func(b *bench) {
		b.writeAndForget()
		b.change(func(spec *v1beta2.EtcdClusterSpec) {
			spec.Defragmentation = &v1beta2.DefragmentationPolicy{FreePercent: ptr.To[int32](30), MinimumSize: ptr.To(resource.MustParse("1Mi"))}
		})
		b.killed(b.small)
	})
	b.step("defragmenting by schedule", func(b *bench) {
		missed := b.missARun("0 0 1 1 *")
		b.killed(func() error { return b.defragmentedSince(missed) })
	})
	b.step("asking for larger volumes than the driver has, and then for less", func(b *bench) {
		driver := &driver{bench: b, room: resource.MustParse("20Gi")}
		b.atDeath = driver.wait
		b.asksFor("40Gi")
		b.operate(&killer.Chain{}, "say that there is no room", func() error {
			_ = driver.act()
			return b.says(v1beta2.ReasonVolumeCannotGrow, "ControllerResizeInfeasible")
		})
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.Pod.PersistentVolumeClaimSpec = nil })
		b.operate(&killer.Chain{}, "be content with what there is", b.settled)
		b.asksFor("20Gi")
		b.killed(func() error { return errors.Join(driver.act(), b.settled()) })
		b.roomy(driver.room)
	})
	if diff := cmp.Diff(pods, b.uids()); diff != "" || members(b.cluster) != ids {
		t.Errorf("members were %s, and are %s; their Pods (-before +after):\n%s", ids, members(b.cluster), diff)
	}
	b.step("replacing the leader, whose disk changed a value", func(b *bench) {
		victim := b.leader()
		b.damage(victim)
		b.forget()
		kubetest.Eventually(b, "etcd finds the damage", func(ctx context.Context) error {
			if alarms, err := b.alarms(ctx); err != nil || alarms == 0 {
				return fmt.Errorf("no alarm: %w", err)
			}
			return nil
		})
		b.atDeath = func() { b.provenOrKept(victim) }
		b.killed(func() error { return b.goneAndSettled(victim) })
		b.allTheSame()
	})
	if b.cluster.Status.ClusterID != born || b.cluster.Status.Incarnation != 1 {
		t.Errorf("it is another cluster: %s, incarnation %d, born as %s", b.cluster.Status.ClusterID, b.cluster.Status.Incarnation, born)
	}
}

// history is written in so many pieces of half a MiB.
const history = 12

// writeAndForget leaves every member with a database file that is free space for the most part.
func (b *bench) writeAndForget() {
	b.Helper()
	for range history {
		b.everywhere("kv/put", map[string]any{"key": []byte("history"), "value": []byte(filling)})
	}
	b.everywhere("kv/put", map[string]any{"key": []byte("history"), "value": []byte("")})
	b.forget()
}

// forget all revisions but the present one.
func (b *bench) forget() {
	b.Helper()
	err := errors.New("clients are led nowhere")
	for _, pod := range b.traffic.selected(b.Context()) {
		var now struct{ Header struct{ Revision string } }
		if err = b.traffic.post(b.Context(), pod, "kv/range", map[string]any{"key": []byte("history")}, &now); err == nil {
			b.everywhere("kv/compaction", map[string]any{"revision": now.Header.Revision})
			return
		}
	}
	b.Fatal(err)
}

// small has no error when the cluster is ready and every member's database has given its free space back.
func (b *bench) small() error {
	err := b.settled()
	for _, m := range b.cluster.Status.MemberStatuses {
		if m.DBSize > history*int64(len(filling))/2 {
			err = errors.Join(err, fmt.Errorf("member %s has %d bytes", m.Name, m.DBSize))
		}
	}
	return err
}

// missARun asks for a schedule as if it stood there for two years, and the last run was made then.
func (b *bench) missARun(schedule string) (last time.Time) {
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

// defragmentedSince has no error when the cluster is ready, and a run after that time is over. It fails the test where a
// member was left out. An operator that forgot in its next life whom it had defragmented would never be through.
func (b *bench) defragmentedSince(last time.Time) error {
	if err := b.settled(); err != nil {
		return err
	}
	run := b.cluster.Status.Defragmentation
	if run == nil || !run.LastScheduleTime.After(last) {
		return fmt.Errorf("no run since %s: %+v", last, run)
	}
	for _, m := range b.cluster.Status.MemberStatuses {
		if m.DefragmentedAt == nil || m.DefragmentedAt.Before(run.LastScheduleTime) {
			b.Errorf("the run is over, and member %s was left out", m.Name)
		}
	}
	return nil
}
