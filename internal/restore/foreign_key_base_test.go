package restore

import (
	"testing"
	"time"

	"filippo.io/age"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// Another EtcdBackup of the cluster shares the folder, and encrypts for an identity that is not in this Kubernetes. Its snapshot was the newest base
// before the point. The restore failed for good, although the own snapshot before it reached the point, and status.recoverable listed it.
func TestTheSnapshotsOfAnEtcdBackupWithAnotherKeyKeepNoPointFromBeingRestored(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	b := shelf{t, t.TempDir()}
	store, err := file.Open(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	series := snapshot.Series{Folder: "daily", Namespace: "ns", Cluster: "a", ClusterID: 1}
	began := now.Add(-48 * time.Hour)
	secret := codec.Encoder{Recipients: []string{identity.Recipient().String()}}
	own := series.Key(began, 2)
	for _, base := range []struct {
		key, backup string
		puts        int
		encoder     codec.Encoder
	}{
		{own, "own", 1, codec.Encoder{}},
		{series.EncodedKey(began.Add(40*time.Minute), 40, secret.Encoding()), "vault", 39, secret},
		{series.EncodedKey(began.Add(50*time.Minute), 50, secret.Encoding()), "vault", 49, secret},
	} {
		named, _ := snapshot.ParseKey(base.key)
		if _, err := save.Snapshot(t.Context(), save.Request{
			Source: streamed(dbfiletest.New(t, 1).Put(base.puts, 20).Snapshot()), Store: store, Key: base.key, SpoolDir: t.TempDir(), Spool: spool.New(t.TempDir(), spool.Options{}).Of("ns"),
			Cluster: snapshot.Cluster{Namespace: "ns", Name: "a", ID: series.ID(), UID: "present"}, Time: named.Time, Clock: func() time.Time { return named.Time },
			Attempt: "uid-" + base.backup + "/1", Backup: base.backup, Encoder: base.encoder,
		}); err != nil {
			t.Fatal(err)
		}
	}
	writeTimeline(t, store, 1, series, own, began)
	s, err := OpenSpool(t.TempDir(), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	asked := Asked{
		Namespace: "ns", Source: v1beta2.RestoreSource{StorageType: "File", Bucket: b.dir, Key: "daily/ns/a/"}, Point: &state.PointOrder{},
		Choice: source.Choice{Folder: true, Of: "ns/a", Revision: 95, Prefer: series.ID(), UID: "present", Owner: snapshot.Owner{Backup: "own"}},
	}
	ctx, limit := limitReading(t.Context(), func() bool { return false })
	defer limit.stop()
	read, err := s.readBase(ctx, asked, limit)
	if err != nil || read.point.Base.Key != own {
		t.Fatalf("the base is %s, want %s: %v", read.point.Base.Key, own, err)
	}
	read.share.Release()
}
