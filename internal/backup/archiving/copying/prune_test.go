package copying

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// unlistable does not list some names.
type unlistable struct {
	objstore.Store
	below string
}

func (u unlistable) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	if strings.HasPrefix(prefix, u.below) {
		return func(yield func(objstore.Object, error) bool) { yield(objstore.Object{}, errors.New("no answer")) }
	}
	return u.Store.List(ctx, prefix)
}

// Old parts of the copy were still to be deleted. Somebody lengthened the window to keep them, and the second location did not list its snapshots for a minute. The
// operator went on with what it had found for the short window.
func TestNothingIsDeletedByAnEarlierLookIfTheNextOneFails(t *testing.T) {
	b := newCopyBench(t)
	w := b.copying()
	w.prune.next = b.now.Add(time.Minute)
	b.steps(w)
	if len(w.prune.outdated) == 0 {
		t.Fatal("nothing is outdated")
	}
	changed := b.spec
	changed.job.Keep.Window = 100 * time.Hour
	w.accepts(changed)
	w.second = unlistable{w.second, b.O.CopiedArchive().SeriesOf(0).Lives()}
	b.now = b.now.Add(2 * time.Minute)
	b.steps(w)
	if got, want := b.there(), b.here(); !slices.Equal(got, want) || w.look().Unread == "" {
		t.Errorf("the second location has %q, want all: %q; it says %q", got, want, w.look().Unread)
	}
}

// A person has put a legal hold on the oldest links. The operator asked for the deletion of these in each attempt, and of no others.
func TestLinksThatMayNotBeDeletedStandInTheWayOfNoOthers(t *testing.T) {
	b := newCopyBench(t)
	w := b.copying()
	b.steps(w)
	faulty := objstoretest.NewFaulty(b.second)
	w.second = faulty
	root, free := b.O.CopiedArchive().ArchiveRoot(), 0
	for i := range int64(30) {
		n := archive.NameOf(1, b.now, 1000+i)
		attempttest.Place(t, b.second, n.Key(root), "{}")
		if w.prune.outdated = append(w.prune.outdated, n); i < 15 {
			faulty.Set(n.Key(root), objstoretest.Locked)
		}
	}
	for range 4 {
		w.discard(t.Context(), w.current())
		b.now = b.now.Add(2 * limits.Retry)
	}
	for _, n := range w.prune.outdated {
		if faulty.Of(n.Key(root)) == 0 {
			free++
		}
	}
	if left := len(w.prune.outdated); free > 0 || left != 15 || w.look().Unpruned == "" {
		t.Errorf("%d links are left, %d of them without a hold: %q", left, free, w.look().Unpruned)
	}
}
