package restore

import (
	"context"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// nothing replays no segment, because the point is a base.
type nothing struct{}

func (nothing) Replay(context.Context, replay.Order) (replay.Result, error) {
	return replay.Result{}, nil
}

// The first attempt stores the point from timeline 1, because the recovered cluster's timeline 2 is not in the store (or not listed) yet. The operator is
// killed before the status has it. The second attempt chooses timeline 2, reports it, and must not restore the object
// of the first one: the user would get the data of another history than the status says.
func TestASecondAttemptDoesNotRestoreThePointOfAnotherTimeline(t *testing.T) {
	dir := t.TempDir()
	store, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	series := snapshot.Series{Folder: "daily", Namespace: "ns", Cluster: "a", ClusterID: 1}
	hashes := map[archive.Timeline]int64{}
	begin := func(number archive.Timeline, at time.Time, recovery string, db *dbfiletest.Database) {
		key := series.Key(at, db.Revision())
		hashes[number] = int64(db.HashKV(db.Revision()))
		if _, err := save.Snapshot(t.Context(), save.Request{
			Source: streamed(db.Snapshot()), Store: store, Key: key, SpoolDir: t.TempDir(), Spool: spool.New(t.TempDir(), spool.Options{}).Of("ns"), Recovery: recovery,
			Cluster: snapshot.Cluster{Namespace: "ns", Name: "a", ID: series.ID(), UID: "present"}, Time: at, Clock: func() time.Time { return at }, Attempt: "u/1",
		}); err != nil {
			t.Fatal(err)
		}
		start := archive.NewStart(number, 1, archive.Base{Key: key, Point: archive.Point{Revision: db.Revision(), At: at}}, "test")
		start.Recovery = recovery
		if err := store.Put(t.Context(), archive.StartKey(archive.Root("daily", "ns", "a"), number), objstore.NewMetadata(start.Encode())); err != nil {
			t.Fatal(err)
		}
	}
	s, err := OpenSpool(t.TempDir(), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.replays.process = nothing{}
	old, recovered := dbfiletest.New(t, 1).Put(3, 20), dbfiletest.New(t, 1).Put(3, 50)
	asked := Asked{
		Namespace: "ns", Source: v1beta2.RestoreSource{StorageType: "File", Bucket: dir, Key: "daily/ns/a/"},
		Point:  &state.PointOrder{Folder: "point-uid", Mark: "uid/point", Time: now},
		Choice: source.Choice{Folder: true, Of: "ns/a", Revision: old.Revision(), Prefer: series.ID(), UID: "present"},
	}
	attempt := func() Found {
		ctx, limit := limitReading(t.Context(), func() bool { return false })
		defer limit.stop()
		found, err := s.provePoint(ctx, asked, limit)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	begin(1, now.Add(-48*time.Hour), "", old)
	first := attempt() // its result is lost with the operator
	begin(2, now.Add(-24*time.Hour), "r", recovered)
	second := attempt()
	base, err := snapshot.ManifestOf(t.Context(), store, second.Point.Base[len(dir)+1:], snapshot.Anyone)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := snapshot.ManifestOf(t.Context(), store, second.Source.Key, snapshot.Anyone)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("first: timeline %d; second: timeline %d, because %s", first.Point.Timeline, second.Point.Timeline, second.ChosenBecause)
	if second.Point.Timeline != 2 || base.Hash != stored.Hash {
		t.Errorf("the status says timeline %d with hash %s, and the snapshot to restore has hash %s", second.Point.Timeline, base.Hash, stored.Hash)
	}
}
