package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

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
	Links    []Name
	// Begun is when the store received the start, and Stored is when it received the last link, by its own clock. They are zero if the listing has
	// no such object.
	Begun, Stored time.Time
	// Omitted is how many links are listed and not held, because the archive has more names than are held.
	Omitted int
	// oldest is the first revision of the oldest link that is listed, held or not. No link that begins before floor is held.
	oldest, floor int64
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
		case n.first == 0:
			newest.Started = true
		case n.first > last:
			n.cold = object.Cold
			newest.Links, last = []Name{n}, n.first
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
