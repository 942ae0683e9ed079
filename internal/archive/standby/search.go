package standby

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/clock"
)

// While there is no next link, the follower looks for the start of the next timeline after 10 seconds, and lists the archive after 30. Each pause between two listings is
// twice as long as the one before.
const (
	startPause  = 10 * time.Second
	listPause   = 30 * time.Second
	listLongest = 10 * time.Minute
)

// search is when a follower without a next link looks for what may have come in its place.
type search struct {
	start, list time.Time
	pause       time.Duration
}

// progressed begins anew, because a link was there.
func (s *search) progressed(now time.Time) {
	s.start, s.list, s.pause = now.Add(startPause), now.Add(listPause), listPause
}

// LookAgain lets the next step that finds no link look for the next timeline, and list the archive, at once.
func (f *Follower) LookAgain() { f.search = search{} }

// look finds out whether there is no next link because there are no changes. The error is a *Broken if there is another reason.
func (f *Follower) look(ctx context.Context) error {
	now := f.o.Now()
	if f.search.pause == 0 {
		f.search.pause = listPause / 2 // the first look of a process is at once
	}
	ctx, cancel := context.WithTimeout(ctx, f.o.Patience)
	defer cancel()
	if clock.Due(f.search.start, startPause, now) {
		if err := f.begunAgain(ctx); err != nil {
			return err
		}
		f.search.start = now.Add(startPause)
	}
	if clock.Due(f.search.list, listLongest, now) {
		if err := f.passedOver(ctx); err != nil {
			return err
		}
		f.search.pause = min(2*f.search.pause, listLongest)
		f.search.list = now.Add(f.search.pause)
	}
	if wanted, has := f.o.Users(), f.db.position.Auth; wanted != nil && has.Compare(*wanted) < 0 {
		return f.broken(UsersChanged, fmt.Errorf("users, roles or authentication of the source have changed: its auth revision is %s, and %s in the base", wanted, has))
	}
	f.caughtUp(now)
	return nil
}

// begunAgain returns a *Broken if the next timeline has begun.
func (f *Follower) begunAgain(ctx context.Context) error {
	next := f.db.position.Chain.Timeline + 1
	start, err := archive.ReadStart(ctx, f.o.Store, f.o.Root, next)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return f.broken(NewTimeline, fmt.Errorf("timeline %d has begun at revision %d: %s", next, start.Base.Revision, start.Reason))
}

// passedOver returns a *Broken if the archive has a later link, or a later timeline.
func (f *Follower) passedOver(ctx context.Context) error {
	newest, found, err := archive.Newest(ctx, f.o.Store, f.o.Root)
	p := f.db.position
	switch {
	case err != nil:
		return err
	case !found:
		return f.broken(Replaced, errors.New("the archive has no object any more"))
	case newest.Timeline > p.Chain.Timeline:
		return f.broken(NewTimeline, fmt.Errorf("the newest timeline is %d", newest.Timeline))
	case newest.Timeline < p.Chain.Timeline:
		return f.broken(Replaced, fmt.Errorf("the newest timeline is %d, so it is another archive", newest.Timeline))
	}
	start, err := f.startOf(ctx, p.Chain.Timeline)
	switch {
	case err != nil:
		return err
	case p.other(start):
		return f.replaced()
	case len(newest.Links) == 0 || newest.Links[0].First() <= p.Chain.Last+1:
		return nil
	}
	// It may have been stored since the follower has asked for it. Before the first link, its day was not known.
	if _, err := archive.ReadHeader(ctx, f.o.Store, f.o.Root, p.key(f.o.Root)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return f.broken(Missing, fmt.Errorf("the archive has no link that begins with revision %d, but one that begins with %d", p.Chain.Last+1, newest.Links[0].First()))
}
