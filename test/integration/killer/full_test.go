package killer_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// TestFullDisksGrowThroughTheSpecWithoutLosingAWrite fills the file systems of all members until etcd cannot write its log any
// more. All members end, and end again when they start. The way out is a larger volume in the spec.
func TestFullDisksGrowThroughTheSpecWithoutLosingAWrite(t *testing.T) {
	t.Parallel()
	const small, large = "192Mi", "640Mi"
	b := newBench(t, v1beta2.EtcdClusterSpec{Size: 3, Version: newer, Pod: &v1beta2.PodPolicy{}})
	disks := b.mountDisks(small)
	b.requestInSpec(small)
	kubetest.Create(t, b.cluster)
	b.operate(&killer.Count{}, "form a cluster", b.isReady)
	ids := memberIDs(b.cluster)

	written := b.fillDisks()
	b.step("the status reports the outage", func(b *bench) {
		b.operate(&killer.Count{}, "report the outage", func() error {
			if b.isReady() == nil {
				return errors.New("the cluster is Ready with full disks")
			}
			return b.namesNow("disks-full", "no space left on device", "volume")
		})
	})
	b.step("the volumes and their file systems grow", func(b *bench) {
		b.requestVolumeSize(large)
		b.operate(&killer.Chain{}, "ask for larger volumes", func() error {
			for _, claim := range b.claims() {
				if claim.Spec.Resources.Requests.Storage().Cmp(resource.MustParse(large)) == 0 {
					disks.resize(b.pods.ClaimDir(&claim), large)
				}
			}
			return b.expandAll(resource.MustParse(large))
		})
	})
	b.operate(&killer.Count{}, "serve again", b.isReady)
	held, err := b.traffic.all(b.Context())
	for i := range written {
		if len(held[fmt.Sprintf("large-%d", i)]) != len(filling) {
			t.Fatalf("the acknowledged key large-%d of %d is lost or cannot be read: %v", i, written, err)
		}
	}
	if after := memberIDs(b.cluster); after != ids {
		t.Errorf("the operator replaced members: %s became %s", ids, after)
	}
}

// disks are file systems of a fixed size.
type disks struct{ *bench }

// mountDisks gives each volume a file system of its own.
func (b *bench) mountDisks(size string) disks {
	b.Helper()
	b.pods.MountClaims(func(dir string) error {
		b.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
		return syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+bytesText(size))
	})
	return disks{b}
}

func (d disks) resize(dir, size string) {
	d.Helper()
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT, "size="+bytesText(size)); err != nil {
		d.Fatalf("grow the file system %s: %v", dir, err)
	}
}

func bytesText(size string) string {
	quantity := resource.MustParse(size)
	return strconv.FormatInt(quantity.Value(), 10)
}

func (b *bench) requestInSpec(size string) {
	b.cluster.Spec.Pod.PersistentVolumeClaimSpec = &corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
	}}
}

// fillDisks writes until no member accepts a write, and returns the number of acknowledged keys.
func (b *bench) fillDisks() (written int) {
	b.Helper()
	pods, refused := b.traffic.selected(b.Context()), 0
	for written < 1000 && refused < 5 {
		if slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
			return b.traffic.post(b.Context(), pod, "kv/put", map[string]any{"key": fmt.Appendf(nil, "large-%d", written), "value": []byte(filling)}, nil) == nil
		}) {
			written, refused = written+1, 0
		} else {
			refused++
		}
	}
	if refused > 0 {
		b.Logf("the disks are full after %d writes", written)
		return written
	}
	b.Fatal("etcd wrote more than its disks can hold")
	return 0
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
