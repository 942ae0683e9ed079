package snapshot_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// A manifest of any size in the bucket must not take the memory of the operator.
func TestAnObjectOfTenMiBIsNoManifest(t *testing.T) {
	const mostOfAManifest = 1 << 20
	store := snapshottest.Huge{Sizes: map[string]int64{snapshot.ManifestKey(snapshottest.Key): 10 * mostOfAManifest, snapshot.VerdictKey(snapshottest.Key, snapshot.Passed): 10 * mostOfAManifest}}
	heaptest.Bound(t, 8, func() {
		if _, err := snapshot.ReadManifest(t.Context(), store, snapshottest.Key, snapshot.Anyone); !errors.Is(err, snapshot.ErrManifest) {
			t.Errorf("error %v", err)
		}
		if _, err := snapshot.ReadVerdict(t.Context(), store, snapshottest.Key, snapshot.Passed); err == nil {
			t.Error("ten MiB of zeros are the result of a restore test")
		}
	})
	text := bytes.Repeat([]byte(" "), 10*mostOfAManifest)
	memory := objstoretest.NewMemory()
	if err := memory.Put(t.Context(), snapshot.ManifestKey(snapshottest.Key), strings.NewReader(string(text)+"{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.ReadManifest(t.Context(), memory, snapshottest.Key, snapshot.Anyone); !errors.Is(err, snapshot.ErrManifest) {
		t.Errorf("error %v", err)
	}
}
