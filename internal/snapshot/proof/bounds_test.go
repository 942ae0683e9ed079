package proof_test

import (
	"errors"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// An object of any size must take the disk that was reserved for it, and no memory. The operator reads the snapshots of all namespaces.
func TestALargeObjectIsReadInPieces(t *testing.T) {
	const reserved = 64 << 20
	store := snapshottest.Huge{Sizes: map[string]int64{snapshottest.Key: 10 * reserved}}
	room := proof.RoomFunc(func(bytes, _ int64) error {
		if bytes > reserved {
			return spool.ErrOverLimit
		}
		return nil
	})
	heaptest.Bound(t, 16, func() {
		if _, err := proof.Fetch(t.Context(), store, snapshottest.Key, proof.Place{Dir: t.TempDir(), Room: room}, nil, snapshot.Anyone); !errors.Is(err, proof.ErrTooLarge) {
			t.Errorf("error %v", err)
		}
	})
}
