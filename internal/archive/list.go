package archive

import (
	"cmp"
	"context"
	"errors"
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
	return (&lister{root: root, most: maxNames, memory: memory}).list(ctx, store, root)
}

// lister holds the names of a listing.
type lister struct {
	root   string
	most   int // names that it holds
	memory *objstore.Holding
	wanted func(Name) bool // the links to hold; nil for all
	// trim drops links if there are more names, which must be at least a quarter of them. If it is nil, the listing fails.
	trim func(all []Names)

	held  objstore.Held
	found map[Timeline]*Names
	last  map[Timeline]int64
}

// list lists a prefix, which is the root or the folder of a timeline.
func (l *lister) list(ctx context.Context, store objstore.Store, prefix string) ([]Names, error) {
	l.held, l.found, l.last = objstore.Held{Max: l.most}, map[Timeline]*Names{}, map[Timeline]int64{}
	for object, err := range store.List(objstore.Unheld(ctx), prefix) {
		if err != nil {
			return nil, err
		}
		if name, ok := ParseKey(l.root, object.Key); ok {
			if err := l.add(name, object); err != nil {
				return nil, err
			}
		}
	}
	return sorted(l.found), nil
}

func (l *lister) add(name Name, object objstore.Object) error {
	if l.wanted != nil && name.first > 0 && !l.wanted(name) {
		return nil
	}
	if l.omits(name) {
		return nil
	}
	if err := l.count(name.timeline); err != nil {
		return err
	}
	if l.omits(name) { // what was counted may be too much by one
		return nil
	}
	of := l.found[name.timeline]
	if of == nil {
		of = &Names{Timeline: name.timeline}
		l.found[name.timeline] = of
	}
	if name.first == 0 {
		of.Started, of.Begun = true, object.ModTime
		return nil
	}
	name.cold = object.Cold
	if l.last[name.timeline] < name.first {
		l.last[name.timeline], of.Stored = name.first, object.ModTime
	}
	if of.oldest == 0 || name.first < of.oldest {
		of.oldest = name.first
	}
	of.Links = append(of.Links, name)
	return nil
}

// omits notes a link that begins before the floor.
func (l *lister) omits(name Name) bool {
	of := l.found[name.timeline]
	if of == nil || name.first == 0 || name.first >= of.floor {
		return false
	}
	of.Omitted, of.oldest = of.Omitted+1, min(of.oldest, name.first)
	return true
}

// count counts one name of a timeline. If there are more than are held, it drops some of the others first.
func (l *lister) count(of Timeline) error {
	err := l.held.Add(0)
	if err != nil && l.trim != nil {
		err = l.drop(err)
	}
	bytes := int64(nameBytes)
	if l.found[of] == nil {
		bytes += timelineBytes
	}
	if err != nil {
		return err
	}
	err = l.memory.Add(bytes)
	if !errors.Is(err, objstore.ErrMemory) || l.trim == nil {
		return err
	}
	if err := l.drop(err); err != nil { // others hold the memory, so it holds a smaller part
		return err
	}
	return l.memory.Add(bytes)
}

// drop trims what is held. It returns the error if too many names are left.
func (l *lister) drop(full error) error {
	all := sorted(l.found)
	most := min(l.most, 1+count(all))
	trimmed(all, l.trim, l.memory)
	for i := range all {
		l.found[all[i].Timeline] = &all[i]
	}
	names := 1 + count(all) // with the next one
	if names > most-most/4 {
		return full
	}
	l.held = objstore.Held{Max: l.most}
	for range names {
		if err := l.held.Add(0); err != nil {
			return err
		}
	}
	return nil
}

// count returns how many names there are, with the starts.
func count(all []Names) int {
	names := len(all)
	for i := range all {
		names += len(all[i].Links)
	}
	return names
}

// trimmed drops links, counts them as omitted, and returns their memory.
func trimmed(all []Names, trim func([]Names), memory *objstore.Holding) {
	before := make([]int, len(all))
	for i := range all {
		before[i] = len(all[i].Links)
	}
	trim(all)
	for i := range all {
		dropped := before[i] - len(all[i].Links)
		all[i].Omitted += dropped
		all[i].Links = slices.Clone(all[i].Links) // the former array is garbage
		memory.Return(NamesBytes(dropped))
	}
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

// Read reads the headers of all links, and checks nothing but each of them.
func Read(ctx context.Context, store objstore.Store, root string) ([]History, error) {
	all, release, err := List(ctx, store, root)
	if err != nil {
		return nil, err
	}
	defer release()
	histories := make([]History, 0, len(all))
	for _, names := range all {
		h := History{}
		if h.Start, err = ReadStart(ctx, store, root, names.Timeline); err != nil {
			return nil, err
		}
		for _, link := range names.Links {
			key := link.Key(root)
			header, err := ReadHeader(ctx, store, root, key)
			if err != nil {
				return nil, err
			}
			h.Links = append(h.Links, Link{Key: key, Header: header})
		}
		histories = append(histories, h)
	}
	return histories, nil
}

// Newest returns the newest timeline with its last link only, and false if there is none. It holds no names, so an archive may have any
// number of them.
func Newest(ctx context.Context, store objstore.Store, root string) (newest Names, found bool, err error) {
	last := int64(0)
	for object, err := range store.List(objstore.Unheld(ctx), root) {
		if err != nil {
			return Names{}, false, fmt.Errorf("list the archive %s: %w", root, err)
		}
		n, ok := ParseKey(root, object.Key)
		if !ok || n.timeline < newest.Timeline {
			continue
		}
		if n.timeline > newest.Timeline {
			newest, last = Names{Timeline: n.timeline}, 0
		}
		switch {
		case n.first == 0:
			newest.Started = true
		case n.first > last:
			n.cold = object.Cold
			newest.Links, last = []Name{n}, n.first
		}
	}
	return newest, newest.Timeline > 0, nil
}
