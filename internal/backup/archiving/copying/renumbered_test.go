package copying

import (
	"errors"
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/follower"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// A person has moved the first location to another bucket, or has emptied it, so the archive begins with timeline 1 again. The second location has timeline 3
// of the archive before. The new timeline is older by its number, so retention there took it for outdated.
func TestAnArchiveThatBeginsAgainIsNotCopiedBeforeTheOldOneInSilence(t *testing.T) {
	for name, revision := range map[string]int64{"nothing of it is copied": 12, "it is copied, and is outdated later": 42} {
		b := newCopyBench(t)
		known := slices.DeleteFunc(b.bases(), func(base archive.Base) bool { return base.Point.Revision != revision })
		start := archive.NewStart(3, 1, known[0], "before the move")
		attempttest.Place(t, b.second, archive.StartKey(b.O.CopiedArchive().ArchiveRoot(), 3), string(start.Encode()))
		w := b.copying()
		var err error
		for range 3 {
			err = errors.Join(err, w.step(t.Context()))
			w.report(err, 0)
		}
		if !errors.Is(err, follower.ErrOtherCopy) || len(b.there()) != 1 {
			t.Errorf("%s: the second location has %q, error %v, and the view is %+v", name, b.there(), err, w.look())
		}
	}
}

// The same happened, and the new archive has begun two more timelines since, so it has one with the number of the old one. The timelines before that one were
// copied, to an archive of which they are no part.
func TestNoEarlierTimelineOfAnotherArchiveIsCopied(t *testing.T) {
	b := newCopyBench(t)
	base := b.bases()[0]
	for place, store := range map[string]*objstoretest.Memory{b.O.ArchiveRoot(): b.Memory, b.O.CopiedArchive().ArchiveRoot(): b.second} {
		start := archive.NewStart(2, 1, base, place)
		attempttest.Place(t, store, archive.StartKey(place, 2), string(start.Encode()))
	}
	w := b.copying()
	err := w.step(t.Context())
	if w.report(err, 0); !errors.Is(err, follower.ErrOtherCopy) || len(b.there()) != 1 {
		t.Errorf("the second location has %q, error %v, and the view is %+v", b.there(), err, w.look())
	}
}

// The listing of the first location omitted the newest timeline, which was copied already. The status said that another archive is in the second location, and asked
// a person to move that folder away.
func TestATimelineThatAListingOmitsIsNotAnotherArchive(t *testing.T) {
	b := newCopyBench(t)
	base := b.bases()[0]
	start := archive.NewStart(2, 1, base, "a restore")
	for place, store := range map[string]*objstoretest.Memory{b.O.ArchiveRoot(): b.Memory, b.O.CopiedArchive().ArchiveRoot(): b.second} {
		attempttest.Place(t, store, archive.StartKey(place, 2), string(start.Encode()))
	}
	b.Set(archive.StartKey(b.O.ArchiveRoot(), 2), objstoretest.Omitted)
	w := b.copying()
	err := w.step(t.Context())
	if w.report(err, 0); err != nil || w.look().Failure != nil {
		t.Errorf("error %v, and the view is %+v", err, w.look())
	}
}
