package status

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

func TestTheSizeOfASnapshotHasAUnit(t *testing.T) {
	for size, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 20480: "20.0 KiB", 150 << 20: "150 MiB", 1288490189: "1.2 GiB", 8 << 40: "8.0 TiB",
	} {
		if got := sizeText(&v1beta2.Snapshot{Size: size}); got != want {
			t.Errorf("%d bytes are %q, want %q", size, got, want)
		}
	}
	if got := sizeText(nil); got != "" {
		t.Errorf("without a snapshot the size is %q", got)
	}
}

func TestTheStatusHasTheSizeOfItsSnapshot(t *testing.T) {
	s := state.State{Status: v1beta2.EtcdBackupStatus{Snapshot: &v1beta2.Snapshot{Size: 1288490189}}}
	if got := NewStatus(s, plan.Idle{}, nil).SnapshotSize; got != "1.2 GiB" {
		t.Errorf("snapshotSize is %q", got)
	}
}
