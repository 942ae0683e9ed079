package replay

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// continued writes keys into a copy of a database, and returns the copy and the events.
func continued(t *testing.T, from, prefix string, last int64) (path string, events []*mvccpb.Event) {
	t.Helper()
	path = copyOf(t, from)
	db, err := openDatabase(path)
	if err != nil {
		t.Fatal(err)
	}
	for db.revision() < last {
		txn := db.store.Write(traceutil.TODO())
		txn.Put(fmt.Appendf(nil, "%s-%d", prefix, db.revision()+1), []byte("v"), 0)
		for _, kv := range txn.Changes() {
			events = append(events, &mvccpb.Event{Kv: proto.CloneOf(kv)})
		}
		txn.End()
	}
	if err := db.close(); err != nil {
		t.Fatal(err)
	}
	return path, events
}

// archived stores a timeline, in segments of 5 events. The clock of the archiver is ahead of that of the store.
func archived(t *testing.T, memory *objstoretest.Memory, number archive.Timeline, base archive.Base, events []*mvccpb.Event, ahead time.Duration) {
	t.Helper()
	memory.Now = func() time.Time { return base.Point.At.Add(time.Minute) }
	start := archive.NewStart(number, 1, base, "test")
	memory.Place(archive.StartKey(root, number), start.Encode())
	chain := start.Chain()
	for len(events) > 0 {
		var records, object bytes.Buffer
		w := archive.NewWriter(&records, chain, base.Auth)
		n := min(5, len(events))
		for _, e := range events[:n] {
			if err := w.Add(e, base.Point.At.Add(ahead)); err != nil {
				t.Fatal(err)
			}
		}
		events = events[n:]
		h, err := w.Seal(nil, base.Auth, 0)
		if err == nil {
			h, err = archive.WriteObject(&object, codec.Encoder{}, h, &records)
		}
		if err != nil {
			t.Fatal(err)
		}
		memory.Place(archive.LinkKey(root, number, chain.At, h.First), object.Bytes())
		chain = h.Chain()
	}
}

// Timeline 1 was archived while the clock of the operator was ahead. Then the members, which no EtcdCluster manages, were replaced by their data of
// revision 10, and timeline 2 began. Its start is cold. A restore of revision 50, which only timeline 1 had, had no error and the data of both.
func TestARestoreBesideAColdStartMixesNoHistories(t *testing.T) {
	common, _ := continued(t, create(t, filepath.Join(t.TempDir(), "common.db")), "both", 10)
	_, ofFirst := continued(t, common, "first", 60)
	second, ofSecond := continued(t, common, "second", 25)
	of := func(key string, revision int64, after time.Duration) archive.Base {
		at := noon.Add(after)
		return archive.Base{Key: key, ClusterID: "0000000000000001", Auth: auth.State{}, Captured: true, Stored: at, Point: archive.Point{Revision: revision, At: at}}
	}
	one, two, later := of("one", 10, 0), of("two", 10, time.Hour), of("later", 25, 90*time.Minute)
	memory := objstoretest.NewMemory()
	archived(t, memory, 1, one, ofFirst, 3*time.Hour)
	archived(t, memory, 2, two, ofSecond, time.Minute)
	memory.Set(archive.StartKey(root, 2), objstoretest.Cold)
	choice, err := archive.Find(t.Context(), memory, root, []archive.Base{one, two, later}, archive.Progress{}, archive.Target{Revision: 50})
	if err != nil {
		t.Fatal(err)
	}
	path := map[string]string{one.Key: common, two.Key: common, later.Key: second}[choice.Base.Key]
	if err := dbfile.AppendTrailer(path); err != nil {
		t.Fatal(err)
	}
	result, err := Replay(t.Context(), Options{Path: path, Revision: 50, Chain: choice.Chain, FallbackTTL: 60, Next: choice.Segments(memory, root)})
	if err != nil || choice.Base.Key != one.Key {
		t.Errorf("revision 50 of timeline %d was replayed on the snapshot %q, and it was taken in timeline 2: %+v, %v", choice.Timeline, choice.Base.Key, result, err)
	}
}
