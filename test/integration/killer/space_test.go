package killer_test

import (
	"context"
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

// smallQuota is the quota in bytes. An empty database has some tens of KiB.
const smallQuota = 16 << 20

// TestFullClusterAcceptsWritesAgainWithoutDataLoss fills a cluster until etcd refuses writes, while a client writes. First
// it writes history, which the operator may compact. Then it writes keys, which the operator must keep.
func TestFullClusterAcceptsWritesAgainWithoutDataLoss(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{
		Size: 3, Version: newer,
		Pod: &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_QUOTA_BACKEND_BYTES", Value: fmt.Sprint(smallQuota)}}},
		// Each revision has half a MiB, so the kept history fits into the quota.
		NoSpace: &v1beta2.NoSpacePolicy{KeepRevisions: ptr.To[int64](10)},
	})
	b.traffic.run()
	kubetest.Create(t, b.cluster)
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	ids := memberIDs(b.cluster)

	b.step("the quota is used up by history", func(b *bench) {
		b.fill(func(int) string { return "overwritten" })
		b.convergeWithKills(b.writable)
		b.madeRoom("defragmentation")
	})
	b.step("the quota is used up by keys", func(b *bench) {
		written := 0
		b.operate(&killer.Count{}, "tell the user to delete keys", func() error {
			if b.isReady() == nil { // continue to write as long as defragmentation frees space
				written += b.fill(func(i int) string { return fmt.Sprintf("large-%d", written+i) })
			}
			return b.says(v1beta2.ReasonNoSpace, "does not make room. Delete keys")
		})
		b.statusNames("quota-used-up-by-keys", "Compacting all but 10 revisions does not make room", "Delete keys")
		if held, err := b.traffic.all(b.Context()); err != nil || len(held["large-0"]) != len(filling) {
			b.Errorf("the key large-0 is lost or cannot be read: %v", err)
		}
	})
	b.step("a user deletes keys", func(b *bench) {
		b.change(func(spec *v1beta2.EtcdClusterSpec) { spec.NoSpace.KeepRevisions = ptr.To[int64](0) })
		b.callAnyMember("kv/deleterange", map[string]any{"key": []byte("large-"), "range_end": []byte("large.")})
		count := &killer.Count{}
		b.operate(count, "free space", b.writable)
		calls := strings.Join(count.Changes(), "\n")
		if !strings.Contains(calls, "Maintenance/Defragment at ") {
			b.Errorf("the operator defragmented no member:\n%s", calls)
		}
		b.madeRoom("these calls:\n" + calls)
		for _, m := range b.cluster.Status.MemberStatuses {
			if m.DefragmentedAt == nil && strings.Contains(calls, "Maintenance/Defragment at "+m.Name) {
				b.Errorf("the status does not report that member %s was defragmented", m.Name)
			}
		}
		b.check()
	})
	if after := memberIDs(b.cluster); after != ids {
		t.Errorf("the operator replaced members: %s became %s", ids, after)
	}
}

// madeRoom asks each member for the size of its database. The status may keep one that differs by less than a tenth.
func (b *bench) madeRoom(after string) {
	b.Helper()
	pods := b.traffic.selected(b.Context())
	if len(pods) != b.cluster.Spec.Size {
		b.Fatalf("the client Service selects %d members", len(pods))
	}
	for _, pod := range pods {
		var status struct {
			DBSize int64 `json:"dbSize,string"`
		}
		if err := b.traffic.post(b.Context(), pod, "maintenance/status", map[string]any{}, &status); err != nil {
			b.Fatal(err)
		}
		if status.DBSize == 0 || status.DBSize > smallQuota*9/10 {
			b.Errorf("the database of member %s has %d bytes after %s", pod.Name, status.DBSize, after)
		}
	}
}

var filling = strings.Repeat("x", 512<<10)

// fill writes until etcd refuses, and returns the number of accepted writes.
func (b *bench) fill(key func(i int) string) int {
	b.Helper()
	accepted := 0
	for range 10_000 {
		for _, pod := range b.traffic.selected(b.Context()) {
			err := b.traffic.post(b.Context(), pod, "kv/put", map[string]any{"key": []byte(key(accepted)), "value": []byte(filling)}, nil)
			if err == nil {
				accepted++
				break
			}
			if strings.Contains(err.Error(), "space exceeded") {
				b.Logf("the quota is used up after %d writes", accepted)
				return accepted
			}
		}
	}
	b.Fatal("etcd accepted more than its quota")
	return 0
}

func (b *bench) callAnyMember(method string, request any) {
	b.Helper()
	kubetest.Eventually(b, "a ready member carries out "+method, func(ctx context.Context) error {
		err := errors.New("the client Service selects no ready member")
		for _, pod := range b.traffic.selected(ctx) {
			if err = b.traffic.post(ctx, pod, method, request, nil); err == nil {
				return nil
			}
			if !strings.HasPrefix(method, "kv/") { // a second time would be refused
				b.Fatal(err)
			}
		}
		return err
	})
}

// writable returns no error if the cluster is Ready and accepts writes.
func (b *bench) writable() error {
	if err := b.isReady(); err != nil {
		return err
	}
	err := errors.New("the client Service selects no ready member")
	for _, pod := range b.traffic.selected(b.Context()) {
		if err = b.traffic.post(b.Context(), pod, "kv/put", map[string]any{"key": []byte("small"), "value": []byte("x")}, nil); err != nil {
			return err
		}
	}
	return err
}

// says returns no error if the condition Ready has the reason and a message that contains words.
func (b *bench) says(reason, words string) error {
	err := b.isReady()
	if ready := meta.FindStatusCondition(b.cluster.Status.Conditions, v1beta2.ConditionReady); ready != nil && ready.Reason == reason && strings.Contains(ready.Message, words) {
		return nil
	}
	return fmt.Errorf("the condition Ready does not have the reason %s with %q: %w", reason, words, err)
}

// memberIDs lists the names and IDs of the members in the status.
func memberIDs(cluster *v1beta2.EtcdCluster) string {
	var text strings.Builder
	for _, m := range cluster.Status.MemberStatuses {
		fmt.Fprintf(&text, "%s=%s ", m.Name, m.ID)
	}
	return text.String()
}
