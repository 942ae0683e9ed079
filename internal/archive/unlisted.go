package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// A listing may lag behind, and omit the end of the archive. An older timeline may have other data at the same revision, so what a listing omits
// must not look like what never was. The key of the next link follows from the link before it, and that of the next timeline from its number.

// withNewer adds the timelines after those that are listed: each one that the store returns a start of, and the one that the status of the
// EtcdBackup names, even if all of it is lost.
func withNewer(ctx context.Context, store objstore.Getter, root string, all []Names, progress Progress) ([]Names, error) {
	all, err := withBetween(ctx, store, root, all)
	if err != nil {
		return nil, err
	}
	later, err := after(ctx, store, root, lastOf(all))
	if err != nil {
		return nil, err
	}
	all = append(all, later...)
	if progress.Timeline > lastOf(all) && len(all) > 0 {
		exists, err := started(ctx, store, root, progress.Timeline)
		if err != nil {
			return nil, err
		}
		all = append(all, Names{Timeline: progress.Timeline, Started: exists})
	}
	return all, nil
}

// listNewer is List with withNewer. An archive with more names than are held has no links then, see near.
func listNewer(ctx context.Context, store objstore.Store, root string, progress Progress) (all []Names, release func(), err error) {
	if all, release, err = listPart(ctx, store, root, withoutLinks); err != nil {
		return nil, nil, err
	}
	if all, err = withNewer(ctx, store, root, all, progress); err != nil {
		release()
		return nil, nil, err
	}
	return all, release, nil
}

// NewestOf is Newest for a listing that may omit objects. It asks for the start of the timeline, and for the timelines after it.
func NewestOf(ctx context.Context, store objstore.Store, root string) (newest Names, found bool, err error) {
	if newest, _, err = Newest(ctx, store, root); err != nil {
		return newest, false, err
	}
	if newest.Timeline > 0 && !newest.Started {
		if newest.Started, err = started(ctx, store, root, newest.Timeline); err != nil && !objstore.Unread(ctx, err) {
			return newest, false, err
		}
		newest.Started = newest.Started || err != nil // its reader finds the error again
	}
	later, err := after(ctx, store, root, newest.Timeline)
	if n := len(later); n > 0 {
		newest = later[n-1]
	}
	return newest, newest.Timeline > 0, err
}

// after returns the timelines after one that the store returns a start of. A store that returns one for each key ends it with an error.
func after(ctx context.Context, store objstore.Getter, root string, t Timeline) (later []Names, err error) {
	for next := t + 1; ; next++ {
		exists, err := started(ctx, store, root, next)
		if err != nil || !exists {
			return later, err // with those before an error
		}
		if len(later) == maxBetween {
			return nil, fmt.Errorf("the store has more than %d timelines after %d, and lists none of them", maxBetween, t)
		}
		later = append(later, Names{Timeline: next, Started: true})
	}
}

// EndOf returns the end of a timeline: that of its last link, and of those after it which a listing omits. It is zero without any link.
func EndOf(ctx context.Context, store objstore.Getter, root string, start Start, links []Name) (last Header, err error) {
	chain := start.Chain()
	if n := len(links); n > 0 {
		if last, err = ReadHeader(ctx, store, root, links[n-1].Key(root)); err != nil {
			return last, err
		}
		chain = last.Chain()
	}
	for range MaxLinks {
		next, err := ReadHeader(ctx, store, root, LinkKey(root, chain.Timeline, chain.At, chain.Last+1))
		if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return last, nil
		}
		if err != nil {
			return last, fmt.Errorf("ask for the segment after revision %d, which a listing omits: %w", chain.Last, err)
		}
		last, chain = next, next.Chain()
	}
	return last, fmt.Errorf("the store has more than %d segments of timeline %d that it does not list", MaxLinks, chain.Timeline)
}

// provenStarts asks for the starts that a listing omits, and for the timelines after the last one.
func provenStarts(ctx context.Context, store objstore.Getter, root string, all []Names) ([]Names, error) {
	for i := range all {
		if all[i].Started {
			continue
		}
		var err error
		if all[i].Started, err = started(ctx, store, root, all[i].Timeline); err != nil && !objstore.Unread(ctx, err) {
			return nil, err
		}
		all[i].Started = all[i].Started || err != nil // its reader finds the error again
	}
	if len(all) == 0 {
		return all, nil
	}
	later, err := after(ctx, store, root, lastOf(all))
	all = append(all, later...)
	if objstore.Refused(err) { // it may exist
		return append(all, Names{Timeline: lastOf(all) + 1, Started: true}), nil
	}
	return all, err
}

// maxBetween is how many timelines before others are asked for. Those that a person deleted have no start either.
const maxBetween = 64

// withBetween adds the timelines before and between those that are listed. The oldest ones may have been deleted by the operator, so the first one
// that does not exist before all others ends the search.
func withBetween(ctx context.Context, store objstore.Getter, root string, all []Names) ([]Names, error) {
	asked := 0
	for i := len(all) - 1; i >= 0; i-- {
		for t := all[i].Timeline - 1; t > lastOf(all[:i]) && asked < maxBetween; t-- {
			asked++
			exists, err := started(ctx, store, root, t)
			refused := objstore.Refused(err)
			if err != nil && !refused {
				return nil, err
			}
			if exists || refused {
				all = slices.Insert(all, i, Names{Timeline: t, Started: true})
			}
			if !exists && i == 0 {
				break
			}
		}
	}
	return all, nil
}

func lastOf(all []Names) Timeline {
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].Timeline
}

// started reports whether the store returns the start of a timeline.
func started(ctx context.Context, store objstore.Getter, root string, t Timeline) (bool, error) {
	gone, err := objstore.Gone(ctx, store, StartKey(root, t))
	if err != nil {
		return false, fmt.Errorf("ask whether the archive has a timeline %d, which a listing omits: %w", t, err)
	}
	return !gone, nil
}

// extend adds the links after the last one that is listed, until one has the target, or the store has no further one. If the last one cannot be
// read, its end is not known. If the store does not answer whether there is a further one, that one may have the target.
func (f *finder) extend(ctx context.Context) error {
	chain, err := f.listedEnd(ctx)
	listed := err == nil
	for err == nil && chain.Timeline > 0 && below(Point{Revision: chain.Last, At: chain.At}, f.target) {
		link := NameOf(chain.Timeline, chain.At, chain.Last+1)
		var next Header
		if next, err = f.header(ctx, link); err == nil {
			f.keys, chain = append(slices.Clip(f.keys), link), next.Chain()
		}
	}
	if !objstore.Unread(ctx, err) {
		return err
	}
	if listed && (!errors.Is(err, fs.ErrNotExist) || objstore.Refused(err)) {
		f.unended = err
	}
	return nil
}

// listedEnd returns the chain after the last link that is listed. It is zero if that one begins after the target, or if there is none and no start.
func (f *finder) listedEnd(ctx context.Context) (Chain, error) {
	n := len(f.keys)
	switch {
	case n == 0 && f.start.ClusterID == "":
		return Chain{}, nil
	case n == 0:
		return f.start.Chain(), nil
	case f.target.Revision > 0 && f.keys[n-1].first > f.target.Revision:
		return Chain{}, nil
	}
	last, err := f.header(ctx, f.keys[n-1])
	if err != nil {
		return Chain{}, err
	}
	return last.Chain(), nil
}
