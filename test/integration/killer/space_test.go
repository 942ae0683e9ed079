package killer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// smallQuota in bytes: an empty database has some tens of KiB.
const smallQuota = 16 << 20

// TestAFullClusterIsGivenRoomAndLosesNoKey fills clusters until etcd refuses writes, while a client writes: once with
// history, which the operator forgets, and once with keys, which it does not touch.
func TestAFullClusterIsGivenRoomAndLosesNoKey(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{
		Size: 3, Version: newer,
		Pod: &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_QUOTA_BACKEND_BYTES", Value: fmt.Sprint(smallQuota)}}},
		// Half a MiB each: what is kept of the history leaves room.
		NoSpace: &v1beta2.NoSpacePolicy{KeepRevisions: ptr.To[int64](10)},
	})
	b.traffic.run()
	kubetest.Create(t, b.cluster)
	b.operate(&killer.Count{}, "form a cluster", b.settled)
	ids := members(b.cluster)

	b.step("full of history", func(b *bench) {
		b.fill(func(int) string { return "overwritten" })
		b.killed(b.writable)
		for _, m := range b.cluster.Status.MemberStatuses {
			if m.DBSize > smallQuota*9/10 {
				b.Errorf("member %s has %d bytes", m.Name, m.DBSize)
			}
		}
	})
	b.step("full of keys", func(b *bench) {
		written := 0
		b.operate(&killer.Count{}, "say what to do", func() error {
			if b.settled() == nil { // as long as defragmentation gives room, there is more to write
				written += b.fill(func(i int) string { return fmt.Sprintf("large-%d", written+i) })
			}
			return b.says(v1beta2.ReasonNoSpace, "gives no room: delete keys")
		})
		if held, err := b.traffic.all(b.Context()); err != nil || len(held["large-0"]) != len(filling) {
			b.Errorf("a key is gone, or cannot be read: %v", err)
		}
	})
	b.step("keys are deleted", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.NoSpace.KeepRevisions = ptr.To[int64](0) })
		b.everywhere("kv/deleterange", map[string]any{"key": []byte("large-"), "range_end": []byte("large.")})
		b.operate(&killer.Count{}, "make room", b.writable)
		for _, m := range b.cluster.Status.MemberStatuses {
			if m.DefragmentedAt == nil {
				b.Errorf("the status does not say that member %s was defragmented", m.Name)
			}
		}
		b.check()
	})
	if after := members(b.cluster); after != ids {
		t.Errorf("members were %s, and are %s", ids, after)
	}
}

var filling = strings.Repeat("x", 512<<10)

// fill writes until etcd refuses, and says how often it did not.
func (b *bench) fill(key func(i int) string) int {
	b.Helper()
	for i := range 10_000 {
		for _, pod := range b.traffic.selected(b.Context()) {
			err := b.traffic.post(b.Context(), pod, "kv/put", map[string]any{"key": []byte(key(i)), "value": []byte(filling)}, nil)
			if err == nil {
				break
			}
			if strings.Contains(err.Error(), "space exceeded") {
				b.Logf("full after %d writes", i)
				return i
			}
		}
	}
	b.Fatal("etcd takes more than its quota")
	return 0
}

func (b *bench) everywhere(method string, request any) {
	b.Helper()
	err := errors.New("clients are led nowhere")
	for _, pod := range b.traffic.selected(b.Context()) {
		if err = b.traffic.post(b.Context(), pod, method, request, nil); err == nil {
			return
		}
	}
	b.Fatal(err)
}

// writable has no error when the cluster is ready and takes writes.
func (b *bench) writable() error {
	if err := b.settled(); err != nil {
		return err
	}
	err := errors.New("clients are led nowhere")
	for _, pod := range b.traffic.selected(b.Context()) {
		if err = b.traffic.post(b.Context(), pod, "kv/put", map[string]any{"key": []byte("small"), "value": []byte("x")}, nil); err != nil {
			return err
		}
	}
	return err
}

// says has no error when the condition Ready has a reason and words.
func (b *bench) says(reason, words string) error {
	err := b.settled()
	if ready := meta.FindStatusCondition(b.cluster.Status.Conditions, v1beta2.ConditionReady); ready != nil && ready.Reason == reason && strings.Contains(ready.Message, words) {
		return nil
	}
	return fmt.Errorf("it does not say %s: %w", reason, err)
}

// members by name and ID, in order.
func members(cluster *v1beta2.EtcdCluster) string {
	var text strings.Builder
	for _, m := range cluster.Status.MemberStatuses {
		fmt.Fprintf(&text, "%s=%s ", m.Name, m.ID)
	}
	return text.String()
}
