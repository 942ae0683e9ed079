package archive

import (
	"context"
	"errors"
	"slices"
	"sort"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// A day may have more links than are held, and the key of a link has no more of its time than the day. Then some of the links are held, and the
// headers of a few of these show which revisions are near the time.

// near reads the names of the links around the target.
func (f *finder) near(ctx context.Context, t Timeline, memory *objstore.Holding) (err error) {
	f.keys, err = near(ctx, f.store, f.root, t, f.target, memory)
	if f.target.Revision > 0 || !errors.Is(err, objstore.ErrListing) {
		return err
	}
	revision, err := f.revisionNear(ctx, t, memory)
	if err != nil {
		return err
	}
	f.keys, err = near(ctx, f.store, f.root, t, Target{Revision: revision}, memory)
	return err
}

// revisionNear returns a revision near the time of the target: fewer links are between both than near holds on each side.
func (f *finder) revisionNear(ctx context.Context, t Timeline, memory *objstore.Holding) (int64, error) {
	memory.Release()
	some := sample{}
	l := lister{root: f.root, most: maxNames, memory: memory, trim: some.thin, wanted: some.has}
	all, err := l.list(ctx, f.store, t.prefix(f.root))
	if err != nil || len(all) == 0 {
		return 0, wrapTimeline(t, err)
	}
	links := slices.DeleteFunc(all[0].Links, isCold)
	var failed error
	at := sort.Search(len(links), func(i int) bool {
		if failed != nil {
			return true
		}
		var h Header
		h, failed = f.header(ctx, links[i])
		return failed != nil || h.To().At.After(f.target.Time)
	})
	if failed != nil || len(links) == 0 {
		return 1, failed
	}
	return links[min(at, len(links)-1)].first, nil
}

// sample is one link of about 2 to the power of bits. They are spread evenly, whatever revisions the links begin with.
type sample struct{ bits int }

func (s *sample) has(n Name) bool {
	const golden = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio spreads numbers in a row
	return uint64(n.first)*golden>>(64-s.bits) == 0
}

// thin halves the sample until at most half of the names that are held are left.
func (s *sample) thin(all []Names) {
	for left := maxNames; left > maxNames/2 && s.bits < 63; {
		s.bits++
		left = 0
		for i := range all {
			all[i].Links = slices.DeleteFunc(all[i].Links, func(n Name) bool { return !s.has(n) })
			left += len(all[i].Links)
		}
	}
}
