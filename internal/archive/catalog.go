package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Link is a link of a chain and its key.
type Link struct {
	Key    string
	Header Header
}

// Names are the keys of one timeline, in the order of its chain.
type Names struct {
	Timeline Timeline
	Started  bool // there is a start object
	Links    []string
	// Cold are the links in a storage class from which nothing can be read.
	Cold map[string]bool
}

// maxNames bounds what List holds in memory: about 200 bytes for each name.
var maxNames = 2_000_000

// List lists the keys of an archive and reads no object. The newest timeline is the last one.
func List(ctx context.Context, store objstore.Store, root string) ([]Names, error) {
	held := objstore.Held{Max: maxNames}
	found := map[Timeline]*Names{}
	for object, err := range store.List(objstore.Unheld(ctx), root) {
		if err != nil {
			return nil, fmt.Errorf("list the archive %s: %w", root, err)
		}
		n, ok := parseKey(root, object.Key)
		if !ok {
			continue
		}
		if err := held.Add(len(object.Key)); err != nil {
			return nil, fmt.Errorf("list the archive %s: %w", root, err)
		}
		names := found[n.timeline]
		if names == nil {
			names = &Names{Timeline: n.timeline}
			found[n.timeline] = names
		}
		if n.start {
			names.Started = true
		} else {
			names.Links = append(names.Links, object.Key)
		}
		if object.Cold && !n.start {
			if names.Cold == nil {
				names.Cold = map[string]bool{}
			}
			names.Cold[object.Key] = true
		}
	}
	all := make([]Names, 0, len(found))
	for _, names := range found {
		// The keys of a chain may be in several days. The first revision orders them.
		slices.SortFunc(names.Links, func(a, b string) int {
			first, _ := parseKey(root, a)
			second, _ := parseKey(root, b)
			return int(min(1, max(-1, first.first-second.first)))
		})
		all = append(all, *names)
	}
	slices.SortFunc(all, func(a, b Names) int { return int(min(1, max(-1, a.Timeline-b.Timeline))) })
	return all, nil
}

// Newest returns the newest timeline with its last link only, and false if there is none. It holds no names, so an archive may have any
// number of them.
func Newest(ctx context.Context, store objstore.Store, root string) (newest Names, found bool, err error) {
	last := int64(0)
	for object, err := range store.List(objstore.Unheld(ctx), root) {
		if err != nil {
			return Names{}, false, fmt.Errorf("list the archive %s: %w", root, err)
		}
		n, ok := parseKey(root, object.Key)
		if !ok || n.timeline < newest.Timeline {
			continue
		}
		if n.timeline > newest.Timeline {
			newest, last = Names{Timeline: n.timeline}, 0
		}
		switch {
		case n.start:
			newest.Started = true
		case n.first > last:
			newest.Links, last = []string{object.Key}, n.first
		}
	}
	return newest, newest.Timeline > 0, nil
}

// ReadStart reads the start object of a timeline.
func ReadStart(ctx context.Context, store objstore.Getter, root string, t Timeline) (Start, error) {
	key := StartKey(root, t)
	body, err := store.Get(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return Start{}, fmt.Errorf("%w: timeline %d has no start object %s: %w", ErrCorrupt, t, key, err)
	}
	if err != nil {
		return Start{}, fmt.Errorf("read the start of timeline %d: %w", t, err)
	}
	defer body.Close()
	return DecodeStart(body, key, t)
}

// History is one timeline with all its headers.
type History struct {
	Start Start
	Links []Link
	// Progress is a later point than that of the last link, up to which etcd had no more events; nil if it is not known.
	Progress *Point

	own  []Base // of the timeline; nil if they are not known
	next *Start // of the next timeline with this cluster ID; nil if there is none, or before linked
}

// Read reads the headers of all links, and checks nothing but each of them.
func Read(ctx context.Context, store objstore.Store, root string) ([]History, error) {
	all, err := List(ctx, store, root)
	if err != nil {
		return nil, err
	}
	histories := make([]History, 0, len(all))
	for _, names := range all {
		h := History{}
		if h.Start, err = ReadStart(ctx, store, root, names.Timeline); err != nil {
			return nil, err
		}
		for _, key := range names.Links {
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
