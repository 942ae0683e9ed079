package archive

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// An archive may have more names than are held: its window is long, or the store refuses deletions. Then a reader holds a part of them.

// listPart is List for an archive with any number of links. If there are more than are held, trim chooses which ones are dropped.
func listPart(ctx context.Context, store objstore.Store, root string, trim func(all []Names)) (all []Names, release func(), err error) {
	l := lister{root: root, most: maxNames, memory: objstore.HoldingOf(ctx).Beside(), trim: trim}
	if all, err = l.list(ctx, store, root); err != nil {
		l.memory.Release()
		return nil, nil, fmt.Errorf("list the archive %s: %w", root, err)
	}
	return all, sync.OnceFunc(l.memory.Release), nil
}

// ListSome is List for an archive with any number of links. If there are more than are held, it has only some links of each timeline, and Omitted is not 0.
func ListSome(ctx context.Context, store objstore.Store, root string) (all []Names, release func(), err error) {
	return listPart(ctx, store, root, withoutLinks)
}

// withoutLinks drops all links.
func withoutLinks(all []Names) {
	for i := range all {
		all[i].Links = nil
	}
}

// newestLinks keeps the newest half of what is held, and the last link of each timeline. What is listed later and is older is not held, either: it
// would look as if links were missing in between.
func newestLinks(all []Names) {
	keep := 0
	for _, names := range all {
		keep += len(names.Links)
	}
	keep = min(keep, maxNames) / 2
	for i, names := range slices.Backward(all) {
		n := min(len(names.Links), max(keep, 1))
		all[i].Links = names.Links[len(names.Links)-n:]
		if n > 0 {
			all[i].floor = all[i].Links[0].first
		}
		keep -= n
	}
}

// oldestLinks keeps so many of the oldest links of each timeline.
func oldestLinks(most int) func(all []Names) {
	return func(all []Names) {
		for i, names := range all {
			all[i].Links = names.Links[:min(len(names.Links), most)]
		}
	}
}

// around is how many links before and after a target are held. A restore reads at most MaxLinks before it.
func around() int { return min(2*MaxLinks, maxNames/4) }

// linksAround keeps the links around a target. The day in a key is that of the end of the link before, so a time is in a link of its day, or in
// the last one before that day.
func linksAround(target Target) func(all []Names) {
	day := NameOf(1, target.Time, 1).day
	return func(all []Names) {
		for i, names := range all {
			links := names.Links
			first := sort.Search(len(links), func(i int) bool { return links[i].first > target.Revision })
			last := first
			if target.Revision == 0 {
				first = sort.Search(len(links), func(i int) bool { return links[i].day >= day })
				last = sort.Search(len(links), func(i int) bool { return links[i].day > day })
			}
			all[i].Links = links[max(first-around(), 0):min(last+around(), len(links))]
		}
	}
}

// near returns the links of a timeline around a target. They count to the Holding.
func near(ctx context.Context, store objstore.Store, root string, t Timeline, target Target, memory *objstore.Holding) ([]Name, error) {
	memory.Release() // those of the timeline before
	l := lister{root: root, most: maxNames, memory: memory, trim: linksAround(target)}
	all, err := l.list(ctx, store, t.Prefix(root))
	if err != nil || len(all) == 0 {
		return nil, wrapTimeline(t, err)
	}
	trimmed(all, l.trim, memory)
	return all[0].Links, nil
}

// Near returns the links of a timeline around a revision: at least those that one replay from that revision can need. The caller calls release
// once, when it does not hold the names any more.
func Near(ctx context.Context, store objstore.Store, root string, t Timeline, revision int64) (names Names, release func(), err error) {
	memory := objstore.HoldingOf(ctx).Beside()
	names.Timeline = t
	if names.Links, err = near(ctx, store, root, t, Target{Revision: revision}, memory); err != nil {
		memory.Release()
		return Names{}, nil, err
	}
	return names, sync.OnceFunc(memory.Release), nil
}

// Oldest returns at most that many links of a timeline, the oldest ones, of those that are wanted. more reports whether it has others.
func Oldest(ctx context.Context, store objstore.Store, root string, t Timeline, most int, wanted func(Name) bool) (links []Name, more bool, err error) {
	memory := objstore.HoldingOf(ctx).Beside()
	defer memory.Release() // the caller holds few
	l := lister{root: root, most: 2*most + 2, memory: memory, trim: oldestLinks(most), wanted: wanted}
	all, err := l.list(ctx, store, t.Prefix(root))
	if err != nil || len(all) == 0 {
		return nil, false, wrapTimeline(t, err)
	}
	trimmed(all, l.trim, memory)
	return all[0].Links, all[0].Omitted > 0, nil
}

func wrapTimeline(t Timeline, err error) error {
	if err != nil {
		err = fmt.Errorf("list timeline %d of the archive: %w", t, err)
	}
	return err
}

// OutdatedProofs returns the keys of the passed proofs of parts that the archive does not have any more. A failed one is kept while its snapshot exists.
func OutdatedProofs(root string, all []Names, proofs []ProofName) []string {
	var keys []string
	for _, n := range proofs {
		at := slices.IndexFunc(all, func(names Names) bool { return names.Timeline == n.Timeline })
		gone := at < 0 || n.To < all[at].begins()
		if gone && !n.Failed {
			keys = append(keys, n.Key(root))
		}
	}
	return keys
}
