package inventory

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// A lifecycle rule, which excludes continuous-archive/ as the manual asks, moved all snapshots but the newest to an archive class. Manifests and verdicts
// are small, and stay. The status listed revisions that no restore could reach, and the user learned that in the disaster.
func TestNoRangeBeginsWithASnapshotThatCannotBeRead(t *testing.T) {
	w := newKept(t, snapshot.Passed)
	known := catalog.Known{}
	f, err := Of(t.Context(), w, w.O, known)
	if err != nil || Unrestorable(f.Survey) != "" {
		t.Fatal(Unrestorable(f.Survey), err)
	}
	newest := f.Index.Items[0].Key
	f.Survey.Drop()
	for _, item := range f.Index.Items[1:] {
		w.Set(item.Key, objstoretest.Cold)
	}
	if f, err = Of(t.Context(), w, w.O, catalog.Known{}); err != nil {
		t.Fatal(err)
	}
	defer f.Survey.Drop()
	for _, r := range f.Survey.Ranges {
		if from := known[newest].Manifest.Revision; r.From.Revision < from {
			t.Errorf("status.recoverable lists the revisions %d to %d, and the only snapshot that can be read has revision %d", r.From.Revision, r.To.Revision, from)
		}
	}
	if holes := Unrestorable(f.Survey); !strings.Contains(holes, f.Index.Items[1].Key) || strings.Contains(holes, f.Index.Items[len(f.Index.Items)-1].Key) {
		t.Errorf("the condition must name the snapshots of the window, and no older one: %s", holes)
	}
	if len(f.Survey.Ranges) == 0 || !f.Survey.Covered {
		t.Errorf("the newest snapshot can be read, and the ranges are %+v", f.Survey.Ranges)
	}
}

// The storage class of the snapshots is one that cannot be read at once. The operator must not take a full snapshot every 10 minutes, because no
// snapshot reaches the end of the archive.
func TestNoSnapshotIsTakenForAnArchiveWhoseNewSnapshotsCannotBeRead(t *testing.T) {
	w := newKept(t, snapshot.Passed)
	for _, key := range w.Keys() {
		if _, ours := snapshot.ParseKey(key); ours {
			w.Set(key, objstoretest.Cold)
		}
	}
	known := catalog.Known{}
	f, err := Of(t.Context(), w, w.O, known)
	if err != nil || f.Survey.Covered {
		t.Fatalf("covered %t, %v", f.Survey.Covered, err)
	}
	defer f.Survey.Drop()
	if !Vain(w.O, f.Survey, known, w.At.Add(time.Hour)) {
		t.Error("the newest snapshot is an hour old and cold, and the operator takes another one")
	}
	if Vain(w.O, f.Survey, known, w.At.Add(25*time.Hour)) {
		t.Error("a lifecycle rule moved the newest snapshot after a day, and the operator takes no other one")
	}
}

// The listing says that a snapshot is cold, but a person has made a copy of it readable for some days.
func TestASnapshotThatAPersonMadeReadableIsABase(t *testing.T) {
	w := newKept(t, snapshot.Passed)
	f, err := Of(t.Context(), coldListed{w}, w.O, catalog.Known{})
	if err != nil || len(f.Survey.Ranges) == 0 || Unrestorable(f.Survey) != "" {
		t.Errorf("ranges %+v, %q: %v", f.Survey.Ranges, Unrestorable(f.Survey), err)
	}
	f.Survey.Drop()
}

// coldListed is a store whose listings say that each object is cold.
type coldListed struct{ objstore.Store }

func (c coldListed) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for o, err := range c.Store.List(ctx, prefix) {
			o.Cold = true
			if !yield(o, err) {
				return
			}
		}
	}
}
