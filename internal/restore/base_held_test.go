package restore

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// The restore of a standby, and one to a point, held all names of their folder while they read the snapshot, and the store decides how long that takes. Names that fill the
// memory kept the restores of other namespaces waiting.
func TestNoNameOfAnotherSnapshotIsHeldWhileABaseIsRead(t *testing.T) {
	b := shelf{t, t.TempDir()}
	const key = "daily/ns/a/0000000000000001/20261121T100000Z-00000000000000000031.db"
	b.save(key, 30, nil)
	store, err := file.Open(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := snapshot.ReadManifest(t.Context(), store, key, snapshot.Anyone)
	if err != nil {
		t.Fatal(err)
	}
	start := archive.NewStart(1, 1, source.BaseOf(key, m, time.Now()), "test")
	if err := store.Put(t.Context(), archive.StartKey(archive.Root("daily", "ns", "a"), 1), bytes.NewReader(start.Encode())); err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		b.write(fmt.Sprintf("daily/ns/a/0000000000000001/20261120T100000Z-%020d.db", i), nil)
	}
	used, restore := objstore.ReplaceMemory(8 << 20)
	defer restore()
	spool, err := OpenSpool(t.TempDir(), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, limit := limitReading(t.Context(), nil)
	defer limit.stop()
	for name, read := range map[string]func(context.Context, Asked) error{
		"a standby": func(ctx context.Context, asked Asked) error {
			asked.Choice.Follow = true
			_, err := spool.proveBase(ctx, asked, limit)
			return err
		},
		"a point": func(ctx context.Context, asked Asked) error { // without the replay, which is a process
			asked.Choice.Revision, asked.Point = m.Revision, &state.PointOrder{}
			read, err := spool.readBase(ctx, asked, limit)
			read.share.Release()
			return err
		},
	} {
		reported := false
		ctx, names := objstore.Hold(ctx, "ns")
		err := read(ctx, Asked{
			Namespace: "ns", Source: v1beta2.RestoreSource{StorageType: "File", Bucket: b.dir, Key: "daily/"}, Choice: source.Choice{Folder: true},
			Progress: func(int64, int64) {
				if reported = true; used() > 32<<10 { // the manifest is held
					t.Errorf("%s: %d KiB are held", name, used()>>10)
				}
			},
		})
		if names.Release(); err != nil || !reported {
			t.Errorf("%s: progress: %t, error %v", name, reported, err)
		}
	}
}
