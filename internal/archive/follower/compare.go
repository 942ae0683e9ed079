package follower

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Floor is where the archive in the second location begins: what no target after a base there needs is not copied, because it would be deleted again.
// The zero Floor is before everything.
type Floor struct {
	Timeline archive.Timeline
	Revision int64 // of the base
}

// FloorOf returns where the archive begins of which the survey is, if nothing is needed before a base.
func FloorOf(s archive.Survey, b archive.Base) Floor {
	at := archive.TimelineOf(s.Names, s.Starts, b)
	if at < 0 {
		return Floor{}
	}
	return Floor{Timeline: s.Names[at].Timeline, Revision: b.Point.Revision}
}

// Before reports whether more is needed from this floor on than from another one.
func (f Floor) Before(other Floor) bool {
	return f.Timeline < other.Timeline || f.Timeline == other.Timeline && f.Revision < other.Revision
}

// Outdates reports whether no link before one in this timeline is needed.
func (f Floor) Outdates(n archive.Name) bool {
	return n.Timeline() == f.Timeline && n.First() > 0 && n.First() <= f.Revision+1
}

// Compared is what the second location lacks.
type Compared struct {
	// Missing are names in the order of the chains. There are more if More is true.
	Missing []archive.Name
	More    bool
	// Last is the last name of the newest timeline in the first location. It is zero if there is no archive, or if More is true.
	Last archive.Name
}

// Compare lists both locations, and returns which names after a given one the second location lacks, at most as many as most says. It holds no other names. What only the
// second location has is kept: the first one may have lost it.
func (c Copying) Compare(ctx context.Context, floor Floor, after archive.Name, most int) (found Compared, err error) {
	there := newCursor(c.To.List(objstore.Unheld(ctx), c.ToRoot))
	defer there.stop()
	newest := archive.Timeline(0)
	for object, err := range c.From.List(objstore.Unheld(ctx), c.FromRoot) {
		if err != nil {
			return Compared{}, fmt.Errorf("%w: list %s: %w", ErrSource, c.FromRoot, err)
		}
		n, ok := archive.ParseKey(c.FromRoot, object.Key)
		if !ok || n.Timeline() < floor.Timeline {
			continue
		}
		n = n.InClass(object.Cold)
		if n.Timeline() > newest || n.First() > 0 {
			newest, found.Last = n.Timeline(), n
		}
		if floor.Outdates(n) {
			found.Missing = slices.DeleteFunc(found.Missing, floor.Outdates)
		}
		has, err := there.has(c.ToRoot + strings.TrimPrefix(object.Key, c.FromRoot))
		if err != nil {
			return Compared{}, fmt.Errorf("list the archive %s in the second location: %w", c.ToRoot, err)
		}
		if has || !after.Before(n) {
			continue
		}
		if len(found.Missing) == most {
			return Compared{Missing: found.Missing, More: true}, nil
		}
		found.Missing = append(found.Missing, n)
	}
	return found, nil
}

// continues returns nil if the newest link of a timeline in the second location is one of the first location, or there is none. Otherwise the timeline there
// is of another archive: the first location may have been emptied, and have begun again with the same number. If the first location has deleted that link
// since, it is not known, so nothing is written either.
func (c Copying) continues(ctx context.Context, t archive.Timeline) error {
	newest := archive.Name{}
	for object, err := range c.To.List(objstore.Unheld(ctx), t.Prefix(c.ToRoot)) {
		if err != nil {
			return fmt.Errorf("list timeline %d in the second location: %w", t, err)
		}
		if n, ok := archive.ParseKey(c.ToRoot, object.Key); ok && n.First() > newest.First() {
			newest = n
		}
	}
	if newest.First() == 0 {
		return nil
	}
	h, err := archive.ReadHeader(ctx, c.From, c.FromRoot, newest.Key(c.FromRoot))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s", ErrOtherCopy, newest.Key(c.ToRoot))
	case err != nil:
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	_, err = c.existing(ctx, newest, h)
	return err
}

// cursor reads a listing beside another one. Both are in byte order.
type cursor struct {
	next func() (objstore.Object, error, bool)
	stop func()
	at   objstore.Object
	read bool
	end  bool
}

func newCursor(listing iter.Seq2[objstore.Object, error]) *cursor {
	next, stop := iter.Pull2(listing)
	return &cursor{next: next, stop: stop}
}

// has reports whether the listing has a key. Each key is later than the one before.
func (c *cursor) has(key string) (bool, error) {
	for !c.end && (!c.read || c.at.Key < key) {
		object, err, more := c.next()
		if err != nil {
			return false, err
		}
		c.at, c.read, c.end = object, true, !more
	}
	return !c.end && c.at.Key == key, nil
}

// sameStart compares a start with that of the second location.
func (c Copying) sameStart(ctx context.Context, start archive.Start, t archive.Timeline) error {
	there, err := archive.ReadStart(ctx, c.To, c.ToRoot, t)
	switch {
	case errors.Is(err, archive.ErrCorrupt) && !errors.Is(err, fs.ErrNotExist), err == nil && there.Hash() != start.Hash():
		return fmt.Errorf("%w: %s", ErrOtherCopy, archive.StartKey(c.ToRoot, t))
	case objstore.Refused(err): // it cannot be compared, for example because of its storage class
		return c.continues(ctx, t)
	}
	return err
}
