package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (
	// namesMemory is what the names of all archives take that this process holds at the same time.
	namesMemory = 128 << 20
	// nameBytes is what a name takes in a slice that grows, and timelineBytes is what a timeline takes with its start.
	nameBytes, timelineBytes = 56, 512
	// namesStep is how many bytes are taken at a time.
	namesStep = 16 << 10
)

// maxNames bounds the names of one archive. They fit into what one namespace may use of namesMemory.
var maxNames = 2_000_000

// namesOfAll is one for the process, because the process has one memory.
var namesOfAll = turns.NewBudget(namesMemory)

// ErrNamesMemory means that the names of other archives take the memory at present.
var ErrNamesMemory = errors.New("the operator cannot hold the names of another archive in memory at present")

type holderKey struct{}

// For marks the context of all that lists archives for a namespace. The names count to what that namespace may hold.
func For(ctx context.Context, namespace string) context.Context {
	return context.WithValue(ctx, holderKey{}, namespace)
}

// names counts the memory of a listing.
type names struct {
	namespace     string
	needed, taken int64
}

func (n *names) add(bytes int64) error {
	if n.needed += bytes; n.needed <= n.taken {
		return nil
	}
	if why := namesOfAll.Take(n.namespace, namesStep); why != turns.None {
		return fmt.Errorf("%w: all archives have %d MiB for that, of which one namespace may use %d MiB, and %s", ErrNamesMemory, namesMemory>>20, namesOfAll.Most()>>20, why)
	}
	n.taken += namesStep
	return nil
}

func (n *names) release() {
	if n.taken > 0 {
		namesOfAll.Return(n.namespace, n.taken)
	}
}

// List lists the keys of an archive and reads no object. The newest timeline is the last one. The caller calls release once, when it does not
// hold the names any more.
func List(ctx context.Context, store objstore.Store, root string) (all []Names, release func(), err error) {
	namespace, _ := ctx.Value(holderKey{}).(string)
	memory := &names{namespace: namespace}
	release = sync.OnceFunc(memory.release)
	if all, err = memory.list(ctx, store, root); err != nil {
		release()
		return nil, nil, fmt.Errorf("list the archive %s: %w", root, err)
	}
	return all, release, nil
}

func (n *names) list(ctx context.Context, store objstore.Store, root string) ([]Names, error) {
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
		if err := cmp.Or(held.Add(0), n.add(bytes)); err != nil {
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
