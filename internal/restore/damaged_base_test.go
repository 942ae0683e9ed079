package restore

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// The EtcdCluster was deleted and created again. The only base of the present one is damaged. A restore of its revision 95 went on with the data of
// the deleted one.
func TestADamagedBaseBringsNoDataOfADeletedEtcdCluster(t *testing.T) {
	dir := t.TempDir()
	store, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := now.Add(-48 * time.Hour)
	keys := map[string]string{}
	for i, uid := range []string{"deleted", "present"} {
		series := snapshot.Series{Folder: "daily", Namespace: "ns", Cluster: "a", ClusterID: uint64(i + 1)}
		began := at.Add(time.Duration(i) * 24 * time.Hour)
		key := series.Key(began, 2)
		keys[uid] = key
		_, err = save.Snapshot(t.Context(), save.Request{
			Source: streamed(dbfiletest.New(t, 1).Put(1, 20).Snapshot()), Store: store, Key: key, SpoolDir: t.TempDir(), Spool: spool.New(t.TempDir(), spool.Options{}).Of("ns"),
			Cluster: snapshot.Cluster{Namespace: "ns", Name: "a", ID: series.ID(), UID: uid}, Time: began, Clock: func() time.Time { return began }, Attempt: "u/1",
		})
		if err != nil {
			t.Fatal(err)
		}
		writeTimeline(t, store, archive.Timeline(i+1), series, key, began)
	}
	damage(t, filepath.Join(dir, keys["present"]))
	s, err := OpenSpool(t.TempDir(), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	asked := Asked{
		Namespace: "ns", Source: v1beta2.RestoreSource{StorageType: "File", Bucket: dir, Key: "daily/ns/a/"}, Point: &state.PointOrder{},
		Choice: source.Choice{Folder: true, Of: "ns/a", Revision: 95, Prefer: "0000000000000002", UID: "present"},
	}
	ctx, limit := limitReading(t.Context(), func() bool { return false })
	defer limit.stop()
	read, err := s.readBase(ctx, asked, limit)
	if err == nil {
		t.Errorf("the restore goes on from EtcdCluster %q: %s%s", read.point.Manifest.Cluster.UID, read.point.Because(), read.passedOver())
	} else {
		t.Log(err)
	}
}

// writeTimeline archives the revisions 3 to 100 after a base with revision 2, one in each minute.
func writeTimeline(t *testing.T, store objstore.Store, number archive.Timeline, series snapshot.Series, base string, began time.Time) {
	t.Helper()
	put := func(key string, content []byte) {
		if err := store.Put(t.Context(), key, objstore.NewMetadata(content)); err != nil {
			t.Fatal(err)
		}
	}
	root := archive.Root(series.Folder, series.Namespace, series.Cluster)
	start := archive.NewStart(number, series.ClusterID, archive.Base{Key: base, Point: archive.Point{Revision: 2, At: began}}, "test")
	put(archive.StartKey(root, number), start.Encode())
	chain := start.Chain()
	for revision := int64(3); revision <= 100; revision++ {
		var records, object bytes.Buffer
		w := archive.NewWriter(&records, chain, auth.State{})
		if err := w.Add(&mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte("k"), CreateRevision: 3, ModRevision: revision, Version: revision - 2}}, began.Add(time.Duration(revision)*time.Minute)); err != nil {
			t.Fatal(err)
		}
		h, err := w.Seal(nil, auth.State{}, 0)
		if err == nil {
			h, err = archive.WriteObject(&object, codec.Encoder{}, h, &records)
		}
		if err != nil {
			t.Fatal(err)
		}
		put(archive.LinkKey(root, number, chain.At, h.First), object.Bytes())
		chain = h.Chain()
	}
}

// damage changes one bit in the middle of a file.
func damage(t *testing.T, name string) {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The newest base before the point is damaged. An earlier one of the same timeline reaches the point, too: it only needs more segments. Without the
// second try, a user could restore no point after the damaged snapshot, although all of its data are in the bucket.
func TestAnEarlierBaseReachesThePointIfTheNewestIsDamaged(t *testing.T) {
	b := shelf{t, t.TempDir()}
	store, err := file.Open(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	series := snapshot.Series{Folder: "daily", Namespace: "ns", Cluster: "a", ClusterID: 1}
	began := now.Add(-48 * time.Hour)
	earlier, newest := series.Key(began, 2), series.Key(began.Add(50*time.Minute), 50)
	for key, puts := range map[string]int{earlier: 1, newest: 49} {
		named, _ := snapshot.ParseKey(key)
		if _, err := save.Snapshot(t.Context(), save.Request{
			Source: streamed(dbfiletest.New(t, 1).Put(puts, 20).Snapshot()), Store: store, Key: key, SpoolDir: t.TempDir(), Spool: spool.New(t.TempDir(), spool.Options{}).Of("ns"),
			Cluster: snapshot.Cluster{Namespace: "ns", Name: "a", ID: series.ID(), UID: "present"}, Time: named.Time, Clock: func() time.Time { return named.Time }, Attempt: "u/1",
		}); err != nil {
			t.Fatal(err)
		}
	}
	writeTimeline(t, store, 1, series, earlier, began)
	s, err := OpenSpool(t.TempDir(), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	asked := Asked{
		Namespace: "ns", Source: v1beta2.RestoreSource{StorageType: "File", Bucket: b.dir, Key: "daily/ns/a/"}, Point: &state.PointOrder{},
		Choice: source.Choice{Folder: true, Of: "ns/a", Revision: 95, Prefer: series.ID(), UID: "present"},
	}
	ctx, limit := limitReading(t.Context(), func() bool { return false })
	defer limit.stop()
	for want := newest; ; want = earlier {
		read, err := s.readBase(ctx, asked, limit)
		if err != nil || read.point.Base.Key != want {
			t.Fatalf("the base is %s, want %s: %v", read.point.Base.Key, want, err)
		}
		read.share.Release()
		if want == earlier {
			return
		}
		damage(t, filepath.Join(b.dir, newest))
	}
}
