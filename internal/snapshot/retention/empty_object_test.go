package retention_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/retention"
)

// The store has lost the bytes of the newest object, for example after a power failure, and lists it with a size. With one byte left, its manifest
// states another size, so it takes no other's place. With none left, it counts as the newest good snapshot, and retention deletes the only real one.
func TestAnEmptyObjectTakesThePlaceOfNoSnapshot(t *testing.T) {
	series := snapshot.Series{Folder: "f", Namespace: "ns", Cluster: "c", ClusterID: 1}
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for name, left := range map[string]string{"one byte is left": "d", "none is left": ""} {
		store := objstoretest.NewMemory()
		var keys []string
		for i, content := range []string{"data", left} {
			at := now.Add(time.Duration(i-3) * time.Hour)
			m := snapshot.Manifest{
				FormatVersion: snapshot.FormatVersion, Cluster: snapshot.Cluster{Namespace: "ns", Name: "c", ID: series.ID()}, Revision: int64(10 + i), Keys: 1, Size: 4,
				SHA256: strings.Repeat("0", 64), CreatedAt: at, Backup: "b", Attempt: "uid/1",
			}
			text, err := m.Encode()
			if err != nil {
				t.Fatal(err)
			}
			key := series.Key(at, m.Revision)
			keys = append(keys, key)
			if err := store.Put(t.Context(), key, strings.NewReader(content)); err != nil {
				t.Fatal(err)
			}
			if err := store.Put(t.Context(), snapshot.ManifestKey(key), objstore.NewMetadata(text)); err != nil {
				t.Fatal(err)
			}
		}
		ctx, held := objstore.Hold(t.Context(), "ns")
		index, err := catalog.Scan(ctx, store, series.Prefix())
		if err != nil {
			t.Fatal(err)
		}
		d, err := retention.Retain(ctx, store, series, index, catalog.Known{}, retention.Policy{MaxBackups: 1, Now: now, Owner: snapshot.Owner{Namespace: "ns", Cluster: "c", Backup: "b"}})
		held.Release()
		if err != nil || slices.Contains(d.Delete, keys[0]) {
			t.Errorf("%s: retention deletes %q, and %s has %d of 4 bytes: %v", name, d.Delete, keys[1], len(left), err)
		}
	}
}
