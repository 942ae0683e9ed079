// Package follower keeps the copy of a continuous archive in a second location up to date. It copies objects as they are, in the order of the chains,
// and never replaces or deletes one.
//
// Only the two stores count. A new follower compares their listings, and copies what the second one lacks. After that, the key of each link
// follows from the link before, so it costs no listing.
package follower

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// batch is how many names are held between two listings.
const batch = 10_000

// maxRefused is how many links in a row the first location may refuse to return. More show that it returns none.
const maxRefused = 3

// ErrAgain means that a comparison of the listings must find what comes next: the first location has begun another timeline, or does not return the
// next link.
var ErrAgain = errors.New("the next link is not known")

// Follower copies one archive. Only one of its methods may run at a time, except for Status.
type Follower struct {
	Copying
	// Copied is called after each copy, with the size of the object. It may be nil.
	Copied func(bytes int64)

	chain     archive.Chain // up to which the newest timeline is copied
	synced    bool
	begun     archive.Timeline // the timeline whose start is there, in a comparison
	startless archive.Timeline // the one whose start the first location does not return
	lacking   int              // names that the first location does not return
	first     archive.Name     // the first of them
	refused   int              // in a row
	floor     Floor            // of the comparison
}

// At returns up to which point the newest timeline is copied, and false if that is not known.
func (f *Follower) At() (archive.Chain, bool) { return f.chain, f.synced }

// Lacking returns how many links the first location did not return in the last comparison, and the first of them.
func (f *Follower) Lacking() (n int, first archive.Name) { return f.lacking, f.first }

// Sync compares the listings, and copies what the second location lacks. It returns how many objects it has copied. If it is interrupted, the next
// call continues.
func (f *Follower) Sync(ctx context.Context, floor Floor) (copied int, err error) {
	f.begun, f.startless, f.lacking, f.refused, f.synced, f.floor = 0, 0, 0, 0, false, floor
	held := objstore.HoldingOf(ctx).Beside()
	defer held.Release()
	if err := held.Add(archive.NamesBytes(batch)); err != nil {
		return 0, err
	}
	after := archive.Name{}
	for {
		found, err := f.Compare(ctx, floor, after, batch)
		if err != nil {
			return copied, err
		}
		for _, n := range found.Missing {
			done, err := f.copy(ctx, n)
			if copied += done; err != nil {
				return copied, err
			}
			after = n
		}
		if !found.More {
			return copied, f.locate(ctx, found.Last)
		}
	}
}

// copy copies one name, after the start of its timeline and after the links before it that a listing omits.
func (f *Follower) copy(ctx context.Context, n archive.Name) (copied int, err error) {
	if n.Timeline() == f.startless {
		return 0, nil // nothing of this timeline can be restored
	}
	if f.begun != n.Timeline() {
		start, err := f.Start(ctx, n.Timeline())
		if Lacks(err) {
			return 0, f.lacksStart(ctx, n, err)
		}
		if err != nil {
			return 0, err
		}
		f.begun, f.chain, copied = n.Timeline(), start.Chain(), 1
	}
	if n.First() == 0 {
		return copied, nil
	}
	omitted, err := f.omitted(ctx, n)
	if copied += omitted; err != nil {
		return copied, err
	}
	linked, err := f.link(ctx, n)
	switch {
	case Lacks(err):
		return copied, f.lacks(n, err)
	case err != nil:
		return copied, err
	}
	f.refused, f.chain = 0, linked.Header.Chain()
	return copied + 1, nil
}

// omitted copies the links before one that follow those which are copied. They are not listed, or were stored after the listing.
func (f *Follower) omitted(ctx context.Context, n archive.Name) (copied int, err error) {
	for f.chain.Last+1 < n.First() {
		if f.floor.Outdates(f.next()) {
			return copied, nil
		}
		linked, err := f.link(ctx, f.next())
		switch {
		case Lacks(err):
			return copied, nil // it is a hole in the first location, too
		case err != nil:
			return copied, err
		case linked.Existed: // it is listed in both, as others may be
			return copied, nil
		}
		f.chain = linked.Header.Chain()
		copied++
	}
	return copied, nil
}

// next is the name of the link that follows.
func (f *Follower) next() archive.Name {
	return archive.NameOf(f.chain.Timeline, f.chain.At, f.chain.Last+1)
}

func (f *Follower) link(ctx context.Context, n archive.Name) (Linked, error) {
	linked, err := f.Link(ctx, n)
	if err == nil && !linked.Existed && f.Copied != nil {
		f.Copied(linked.Bytes)
	}
	return linked, err
}

// lacksStart notes a timeline whose start the first location does not return. A start is as old as its timeline, so a lifecycle rule moves it before all else. If
// the location returns a link of the timeline, it does not refuse all.
func (f *Follower) lacksStart(ctx context.Context, link archive.Name, err error) error {
	f.startless = link.Timeline()
	start := archive.NameOf(link.Timeline(), time.Time{}, 0)
	if link.First() > 0 && !link.Cold() {
		if _, unread := archive.ReadHeader(ctx, f.From, f.FromRoot, link.Key(f.FromRoot)); unread == nil {
			f.refused = 0
			f.note(start)
			return nil
		}
	}
	if link.Cold() {
		start = link
	}
	return f.lacks(start, err)
}

// note counts a name that the first location does not return.
func (f *Follower) note(n archive.Name) {
	if f.lacking++; f.lacking == 1 {
		f.first = n
	}
}

// lacks notes a name that the first location does not return. It fails if that refuses all.
func (f *Follower) lacks(n archive.Name, err error) error {
	f.note(n)
	if n.Cold() || !objstore.Refused(err) {
		f.refused = 0
		return nil
	}
	if f.refused++; f.refused > maxRefused {
		return fmt.Errorf("%d links in a row: %w", f.refused, err)
	}
	return nil
}

// locate finds out up to where the newest timeline is copied. If the first location does not return its end, that is not known.
func (f *Follower) locate(ctx context.Context, last archive.Name) error {
	if last.Timeline() == 0 || last.Timeline() == f.startless {
		return nil // there is nothing to copy
	}
	if f.begun != last.Timeline() {
		start, err := f.Start(ctx, last.Timeline())
		if Lacks(err) {
			return f.lacks(last, err)
		}
		if err != nil {
			return err
		}
		f.begun, f.chain = last.Timeline(), start.Chain()
	}
	if last.First() > f.chain.Last {
		h, err := f.End(ctx, last)
		if errors.Is(err, fs.ErrNotExist) && f.lacking > 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the end of the copy: %w", err)
		}
		f.chain = h.Chain()
	}
	f.synced = true
	return nil
}

// Follow copies the links after those that are copied, up to a revision that the first location has. It returns how many it has copied. The error is
// ErrAgain if Sync must find the next one.
func (f *Follower) Follow(ctx context.Context, timeline archive.Timeline, revision int64) (copied int, err error) {
	if !f.synced {
		return 0, ErrAgain
	}
	for f.chain.Timeline == timeline && f.chain.Last < revision {
		n := f.next()
		linked, err := f.link(ctx, n)
		if Lacks(err) {
			return copied, fmt.Errorf("%w: %w", ErrAgain, err)
		}
		if err != nil {
			return copied, err
		}
		if f.chain, err = f.chain.Follow(n.Key(f.ToRoot), linked.Header); err != nil {
			return copied, fmt.Errorf("%w: %w", ErrAgain, err)
		}
		copied++
	}
	if timeline > f.chain.Timeline {
		return copied, fmt.Errorf("%w: timeline %d has begun", ErrAgain, timeline)
	}
	return copied, nil
}
