package standby

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
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

// look finds out whether no link follows a position because there are no changes. The error is a *Broken if there is another reason.
func (s *search) look(ctx context.Context, o Options, at position, now time.Time) error {
	if s.pause == 0 {
		s.pause = listPause / 2 // the first look of a process is at once
	}
	ctx, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	if clock.Due(s.start, startPause, now) {
		if err := begunAgain(ctx, o, at); err != nil {
			return err
		}
		s.start = now.Add(startPause)
	}
	if clock.Due(s.list, listLongest, now) {
		if err := passedOver(ctx, o, at); err != nil {
			return err
		}
		s.pause = min(2*s.pause, listLongest)
		s.list = now.Add(s.pause)
	}
	if wanted, has := o.Users(), at.Auth; wanted != nil && has.Compare(*wanted) < 0 {
		return at.broken(UsersChanged, fmt.Errorf("users, roles or authentication of the source have changed: its auth revision is %s, and %s in the base", wanted, has))
	}
	return nil
}

// begunAgain returns a *Broken if the next timeline has begun.
func begunAgain(ctx context.Context, o Options, at position) error {
	next := at.Chain.Timeline + 1
	start, err := archive.ReadStart(ctx, o.Store, o.Root, next)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return at.broken(NewTimeline, fmt.Errorf("timeline %d has begun at revision %d: %s", next, start.Base.Revision, start.Reason))
}

// passedOver returns a *Broken if the archive has a later link, or a later timeline.
func passedOver(ctx context.Context, o Options, at position) error {
	newest, found, err := archive.Newest(ctx, o.Store, o.Root)
	switch {
	case err != nil:
		return err
	case !found:
		return at.broken(Replaced, errors.New("the archive has no object any more"))
	case newest.Timeline > at.Chain.Timeline:
		return at.broken(NewTimeline, fmt.Errorf("the newest timeline is %d", newest.Timeline))
	case newest.Timeline < at.Chain.Timeline:
		return at.broken(Replaced, fmt.Errorf("the newest timeline is %d, so it is another archive", newest.Timeline))
	}
	start, err := startOf(ctx, o, at.Chain.Timeline)
	switch {
	case err != nil:
		return err
	case at.other(start):
		return at.replaced()
	case len(newest.Links) == 0 || newest.Links[0].First() <= at.Chain.Last+1:
		return nil
	}
	// It may have been stored since the follower has asked for it. Before the first link, its day was not known.
	if _, err := archive.ReadHeader(ctx, o.Store, o.Root, at.key(o.Root)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return at.broken(Missing, fmt.Errorf("the archive has no link that begins with revision %d, but one that begins with %d", at.Chain.Last+1, newest.Links[0].First()))
}

// startOf returns the SHA-256 of the start of a timeline. It is empty if the store does not return it: then it is not compared.
func startOf(ctx context.Context, o Options, t archive.Timeline) (string, error) {
	start, err := archive.ReadStart(ctx, o.Store, o.Root, t)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, archive.ErrCorrupt), objstore.Refused(err):
		return "", nil
	case err != nil:
		return "", err
	}
	return start.Hash(), nil
}
