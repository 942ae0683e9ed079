package inventory

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/backup/status"
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

// All objects of an idle archive were moved, and the store returned nothing new either. The archiver could not begin, so the operator looked at
// the archive no more. A month later the status still listed the old points without a word.
func TestTheConditionSaysThatTheListMayBeWrongWhileNoArchiverBegins(t *testing.T) {
	s := statetest.ArchivingState(t)
	s.Status = status.NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	if len(s.Status.Recoverable) == 0 {
		t.Fatal("nothing is recoverable before")
	}
	err := fmt.Errorf("read the start of timeline 1: 403: %w; and another timeline would not help: %w: %w", fs.ErrPermission, archiver.ErrUnreturned, fs.ErrPermission)
	s.Archive = &state.Archive{Failures: 1000, Idle: s.Now, Failure: classify(err, state.JobSpecOf(s))}
	s.Now = s.Now.Add(30 * 24 * time.Hour)
	s.Status = status.NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	c := state.ConditionOf(s.Status.Conditions, v1beta2.ConditionArchiving)
	for _, part := range []string{"status.recoverable may list points", "to read objects", "decrypt", "takes no snapshot"} {
		if c.Status != metav1.ConditionFalse || c.Reason != v1beta2.ReasonAccessDenied || !strings.Contains(c.Message, part) {
			t.Errorf("the message does not say %q: %+v", part, c)
		}
	}
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
