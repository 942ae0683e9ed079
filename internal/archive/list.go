package archive

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// nameBytes is what a name takes in a slice that grows, and timelineBytes is what a timeline takes with its start.
const nameBytes, timelineBytes = 56, 512

// NamesBytes returns what that many names take in memory.
func NamesBytes(names int) int64 { return int64(names) * nameBytes }

// maxNames bounds the names of one archive. They fit into what one namespace may use of the memory for names.
var maxNames = 2_000_000

// List lists the keys of an archive and reads no object. The newest timeline is the last one. The caller calls release once, when it does not
// hold the names any more.
func List(ctx context.Context, store objstore.Store, root string) (all []Names, release func(), err error) {
	memory := objstore.HoldingOf(ctx).Beside()
	if all, err = list(ctx, store, root, memory); err != nil {
		memory.Release()
		return nil, nil, fmt.Errorf("list the archive %s: %w", root, err)
	}
	return all, sync.OnceFunc(memory.Release), nil
}

func list(ctx context.Context, store objstore.Store, root string, memory *objstore.Holding) ([]Names, error) {
	held := objstore.Held{Max: maxNames}
	found := map[Timeline]*Names{}
	for object, err := range store.List(objstore.Unheld(ctx), root) {
		if err != nil {
			return nil, err
		}
		name, ok := parseKey(root, object.Key)
		if !ok {
			continue
		}
		of, bytes := found[name.timeline], int64(nameBytes)
		if of == nil {
			bytes += timelineBytes
		}
		if err := cmp.Or(held.Add(0), memory.Add(bytes)); err != nil {
			return nil, err
		}
		if of == nil {
			of = &Names{Timeline: name.timeline}
			found[name.timeline] = of
		}
		if name.first == 0 {
			of.Started = true
			continue
		}
		name.cold = object.Cold
		of.Links = append(of.Links, name)
	}
	return sorted(found), nil
}

// sorted returns the timelines in order. The keys of a chain may be in several days. The first revision orders them.
func sorted(found map[Timeline]*Names) []Names {
	all := make([]Names, 0, len(found))
	for _, names := range found {
		slices.SortFunc(names.Links, func(a, b Name) int { return cmp.Compare(a.first, b.first) })
		all = append(all, *names)
	}
	slices.SortFunc(all, func(a, b Names) int { return cmp.Compare(a.Timeline, b.Timeline) })
	return all
}
