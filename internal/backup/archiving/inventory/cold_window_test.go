package inventory

import (
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/retention"
)

// Somebody moved the newest snapshot before the window to an archive class. It counted as the one with which the window begins, so the archive before it
// and the last snapshot that can be read at once were deleted. No point of the first part of the window could be restored any more.
func TestAColdSnapshotDoesNotReplaceAWarmOneBeforeTheWindow(t *testing.T) {
	w := newKept(t, snapshot.Passed)
	w.O.Keep.MaxBackups, w.O.Keep.Window = 1, 150*time.Minute
	whole := w.deletes()
	known := catalog.Known{}
	f, err := Of(t.Context(), w, w.O, known)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Survey.Drop()
	keep := w.O.Keep
	keep.Now = w.At
	bases, err := keep.AskedBases(t.Context(), w, w.O.SeriesOf(1), f.Index, known)
	if err != nil || len(bases) != 1 || len(whole) == 0 {
		t.Fatalf("bases %v, deletes %q: %v", bases, whole, err)
	}
	base := bases[0]
	w.Set(base.Key, objstoretest.Cold)
	if got := w.deletes(); len(got) >= len(whole) {
		t.Errorf("%q is deleted, although a replay to the window cannot begin with the cold snapshot %s", got, base.Key)
	}
	index, err := catalog.Scan(t.Context(), w, w.O.SeriesOf(1).Prefix())
	if err != nil {
		t.Fatal(err)
	}
	d, err := retention.Retain(t.Context(), w, w.O.SeriesOf(1), index, known, keep)
	if err != nil {
		t.Fatal(err)
	}
	warm := ""
	for _, item := range index.Items {
		if item.Verdict != snapshot.Failed && !item.Cold && item.Key < base.Key {
			warm = item.Key
			break
		}
	}
	if warm == "" || slices.Contains(d.Delete, warm) {
		t.Errorf("the last warm snapshot before the window %q is deleted: %q", warm, d.Delete)
	}
}
