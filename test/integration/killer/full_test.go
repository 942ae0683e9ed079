package killer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// TestVolumesGrowThroughTheSpecWhileNoQuorumAnswers: equal volumes are full at the same time, and then no member can start. A
// locked database stands for a full disk: etcd waits for it before it serves.
func TestVolumesGrowThroughTheSpecWhileNoQuorumAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: 3, Version: newer, Pod: &v1beta2.PodPolicy{}})
	kubetest.Create(t, b.cluster)
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	b.callAnyMember("kv/put", map[string]any{"key": []byte("key"), "value": []byte("kept")})
	ids, larger := members(b.cluster), resource.MustParse("20Gi")

	free := b.fillVolumes()
	b.step("the status reports that no quorum answers", func(b *bench) {
		b.operate(&killer.Count{}, "report the outage", func() error { return b.reports("No quorum answers") })
	})
	b.step("the volumes grow", func(b *bench) {
		b.requestVolumeSize(larger.String())
		b.operate(&killer.Chain{}, "ask for larger volumes", func() error { return b.expandAll(larger) })
	})
	free()
	b.operate(&killer.Count{}, "serve again", b.isReady)
	b.volumesHave(larger)
	if held, err := b.traffic.all(b.Context()); err != nil || held["key"] != "kept" || members(b.cluster) != ids {
		t.Errorf("the key is %q, error %v; members %s became %s", held["key"], err, ids, members(b.cluster))
	}
}

// fillVolumes stops all members, and keeps them from starting until free is called.
func (b *bench) fillVolumes() (free func()) {
	b.Helper()
	var locks []*os.File
	for _, claim := range b.claims() {
		b.delete(&corev1.Pod{}, claim.Name)
		lock, err := os.OpenFile(filepath.Join(b.pods.ClaimDir(&claim), "data/member/snap/db"), os.O_RDWR, 0)
		if err != nil {
			b.Fatal(err)
		}
		locks = append(locks, lock)
		kubetest.Eventually(b, "member "+claim.Name+" has stopped", func(context.Context) error {
			return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		})
	}
	free = func() {
		for _, lock := range locks {
			_ = lock.Close()
		}
	}
	b.Cleanup(free)
	return free
}

// expandAll acts as a storage driver that expands every volume. It returns no error once all have the size.
func (b *bench) expandAll(size resource.Quantity) (err error) {
	b.Helper()
	d := &driver{bench: b, room: size}
	for _, claim := range b.claims() {
		if claim.Spec.Resources.Requests.Storage().Cmp(*claim.Status.Capacity.Storage()) > 0 {
			d.resize(&claim)
		}
		if claim.Status.Capacity.Storage().Cmp(size) < 0 {
			err = errors.Join(err, fmt.Errorf("volume %s has %s", claim.Name, claim.Status.Capacity.Storage()))
		}
	}
	return err
}
