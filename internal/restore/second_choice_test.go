package restore

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// Retention deleted the chosen snapshot while the restore waited for space. The restore failed for good, although the next newest one is good.
func TestASnapshotThatIsDeletedBeforeItIsReadLeadsToASecondChoice(t *testing.T) {
	const (
		mib    = 1 << 20
		first  = "daily/ns/a/0000000000000001/20261121T100000Z-00000000000000000031.db"
		second = "daily/ns/a/0000000000000001/20261121T110000Z-00000000000000000041.db"
	)
	for name, asked := range map[string]Asked{
		"of a folder":         {Choice: source.Choice{Folder: true}, Source: v1beta2.RestoreSource{Key: "daily/"}},
		"of an EtcdBackup":    {Choice: source.Choice{Fallback: "daily/ns/a/"}, Source: v1beta2.RestoreSource{Key: second}},
		"that a path names":   {Source: v1beta2.RestoreSource{Key: second}},
		"that a spec selects": {Choice: source.Choice{Folder: true, Name: second}, Source: v1beta2.RestoreSource{Key: "daily/"}},
	} {
		b := shelf{t, t.TempDir()}
		b.save(first, 30, nil)
		b.save(second, 100_000, nil)
		asked.Namespace, asked.Source.StorageType, asked.Source.Bucket = "waits", "File", b.dir
		s, err := OpenSpool(t.TempDir(), spool.Options{Limit: 16 * mib})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			other, err := s.Of("other").Reserve(t.Context(), 4*mib)
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Hour, func() { b.drop(second); other.Release() })
			found, err := s.Prove(t.Context(), asked)
			again := strings.HasPrefix(name, "of ")
			if again && (err != nil || found.Source.Key != first) || !again && !source.Missing(err) {
				t.Errorf("%s: %s, %v", name, found.Source.Key, err)
			}
		})
	}
}

// The key of the snapshot of a point is longer than those of its series. That was found after the whole replay, every 5 minutes.
func TestAPointWithATooLongKeyIsRefusedForGood(t *testing.T) {
	point := source.Point{Series: snapshot.Series{Folder: strings.Repeat("f", 900), Namespace: "ns", Cluster: "a", ClusterID: 1}}
	point.Base.Key = point.Series.Key(time.Unix(0, 0), 1)
	if err := snapshot.CheckKey(point.Base.Key); err != nil {
		t.Fatal(err)
	}
	asked := Asked{}
	asked.Point = &state.PointOrder{Folder: "point-0123456789012345678901234567890123456789"}
	key := pointSeries(asked, point).EncodedKey(time.Unix(0, 0), 1, point.Encoding())
	err := snapshot.CheckKey(key)
	if err == nil {
		t.Fatalf("a key of %d bytes is possible", len(key))
	}
	if f := classify(fmt.Errorf("%w: %w", errKey, err), v1beta2.RestoreSource{}); f.Reason != v1beta2.ReasonInvalidSpec || !f.Final {
		t.Errorf("%+v", f)
	}
}
