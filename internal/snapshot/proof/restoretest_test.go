package proof_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// cluster is a fake Live.
type cluster struct {
	hash      uint32
	compacted int64
	err       error
	asked     int64
}

func (c *cluster) HashKV(_ context.Context, revision int64) (uint32, int64, error) {
	c.asked = revision
	return c.hash, c.compacted, c.err
}

func TestRestoreTestComparesTheRestoredDataWithTheCluster(t *testing.T) {
	alice, aliceKey := snapshottest.KeyPair(t)
	db := dbfiletest.New(t, snapshottest.Member).Put(300, 200).Delete("key-000007").Put(20, 10)
	content := db.Snapshot()
	hash := db.HashKV(322)
	compacted := db.CompactTo(310).HashKV(322)
	if hash == compacted {
		t.Fatal("compaction changed nothing: does this test compare anything?")
	}
	for name, test := range map[string]struct {
		live     *cluster
		encoder  codec.Encoder
		compared bool
		why      string
		want     error
	}{
		"the hashes are equal":                               {live: &cluster{hash: hash}, compared: true},
		"the cluster was compacted after the snapshot":       {live: &cluster{hash: compacted, compacted: 310}, compared: true},
		"the object is encrypted":                            {live: &cluster{hash: hash}, encoder: codec.Encoder{Compression: codec.Zstd, Recipients: []string{alice}}, compared: true},
		"the hashes differ":                                  {live: &cluster{hash: hash + 1}, want: proof.ErrDiffers},
		"the hashes differ after a compaction":               {live: &cluster{hash: hash, compacted: 310}, want: proof.ErrDiffers},
		"the revision is compacted":                          {live: &cluster{err: errors.New("required revision has been compacted")}, why: "compacted"},
		"the hash is of a later compaction":                  {live: &cluster{hash: hash, compacted: 400}, why: "compacted to revision 400"},
		"the cluster does not answer":                        {live: &cluster{err: errors.New("connection refused")}, why: "refused"},
		"there is no cluster":                                {why: "no cluster"},
		"the comparison fails":                               {live: &cluster{err: errors.New("x")}, why: "x"},
		"the comparison fails and the cluster was compacted": {live: &cluster{hash: 1, compacted: 310, err: errors.New("x")}, why: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			store, dir := snapshottest.NewBucket(t), t.TempDir()
			if _, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, content, func(r *save.Request) { r.Encoder = test.encoder })); err != nil {
				t.Fatal(err)
			}
			var read int64
			r := proof.RestoreTestRequest{Try: dbfile.TryRestore, Store: store, Key: snapshottest.Key, ScratchDir: dir, Identities: aliceKey, Progress: func(n int64) { read = n }}
			if test.live != nil {
				r.Live = test.live
			}
			got, err := proof.RunRestoreTest(t.Context(), r)
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Fatalf("error %v, want %v", err, test.want)
			}
			if got.Compared != test.compared || !strings.Contains(got.Why, test.why) || (got.Why == "") != (test.compared || test.want != nil) {
				t.Errorf("compared %v, why %q; want %v, %q", got.Compared, got.Why, test.compared, test.why)
			}
			if got.Info.Revision != 322 || got.Manifest == nil || got.Restored.Hash == 0 || read != got.Size {
				t.Errorf("proved %+v after %d bytes", got, read)
			}
			if test.live != nil && test.live.asked != 322 {
				t.Errorf("asked for revision %d", test.live.asked)
			}
			if left := snapshottest.OnDisk(t, dir); len(left) != 0 {
				t.Errorf("left %q on the disk", left)
			}
		})
	}
}

func TestRestoreTestOfAnEmptyStoreComparesAtRevision1(t *testing.T) {
	db := dbfiletest.New(t, snapshottest.Member)
	store := snapshottest.NewBucket(t)
	store.Write(snapshottest.Key, db.Snapshot())
	live := &cluster{hash: db.HashKV(1)}
	got, err := proof.RunRestoreTest(t.Context(), proof.RestoreTestRequest{Try: dbfile.TryRestore, Store: store, Key: snapshottest.Key, ScratchDir: t.TempDir(), Live: live})
	if err != nil || !got.Compared || live.asked != 1 {
		t.Errorf("%+v, error %v, asked for %d; want it to be compared at 1, since 0 means now", got, err, live.asked)
	}
}

func TestRestoreTestFails(t *testing.T) {
	content := snapshottest.Database(t, snapshottest.Member, 300)
	for name, test := range map[string]struct {
		object []byte
		dir    string
		want   error
	}{
		"if the object is missing":            {want: fs.ErrNotExist},
		"if the object is damaged":            {object: append([]byte("x"), content[1:]...), want: dbfile.ErrCorrupt},
		"if the scratch directory is missing": {object: content, dir: "/does/not/exist", want: snapshot.ErrDisk},
	} {
		t.Run(name, func(t *testing.T) {
			store, dir := snapshottest.NewBucket(t), t.TempDir()
			if test.object != nil {
				store.Write(snapshottest.Key, test.object)
			}
			if test.dir != "" {
				dir = test.dir
			}
			if _, err := proof.RunRestoreTest(t.Context(), proof.RestoreTestRequest{Try: dbfile.TryRestore, Store: store, Key: snapshottest.Key, ScratchDir: dir}); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

// The object of a snapshot was replaced by a small one with endless content, and its manifest was deleted.
func TestARestoreTestReadsABombOnlyIntoItsReservation(t *testing.T) {
	var small bytes.Buffer
	w, err := zstd.NewWriter(&small)
	if err != nil {
		t.Fatal(err)
	}
	for range 400 {
		_, _ = w.Write(make([]byte, 1<<20))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	store, err := file.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Put(t.Context(), "x.db.zst", &small); err != nil {
		t.Fatal(err)
	}
	s := spool.New(t.TempDir(), spool.Options{Limit: 256 << 20})
	most := int64(0)
	_, err = proof.RunRestoreTest(t.Context(), proof.RestoreTestRequest{
		Try: dbfile.TryRestore, Store: store, Key: "x.db.zst", ScratchDir: s.Dir(), Spool: s.Of("ns"), Expected: 1 << 20, Progress: func(int64) {
			used, _, _ := s.Usage()
			most = max(most, used)
		},
	})
	if !errors.Is(err, dbfile.ErrCorrupt) || most > 240<<20 {
		t.Errorf("%d bytes, error %v", most, err)
	}
	if left, _ := os.ReadDir(s.Dir()); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}
