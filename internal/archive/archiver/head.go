package archiver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

const (
	// headInterval is how often the revision of the cluster is read at least, if MaxLag is longer.
	headInterval = 5 * time.Second
	// maxSights limits the revisions that are remembered while the store is down.
	maxSights = 1000
)

// ErrSilent means that the watched member does not return changes that a quorum has.
var ErrSilent = errors.New("the watch returns nothing, but the cluster has newer revisions")

// lookAhead reads the revision of the cluster beside the watch. Nothing is learned from an error: then the lag grows.
func (s *session) lookAhead(ctx context.Context) {
	if s.looking {
		return
	}
	s.looking = true
	at := s.a.Now()
	send := func(seen sight) {
		select {
		case s.sights <- seen:
		case <-ctx.Done():
		}
	}
	go panics.Caught(func() {
		head, err := s.a.Cluster.Head(ctx)
		if err != nil || head.ClusterID != s.a.clusterID {
			head.Revision = 0
		}
		now, err := s.a.Cluster.Auth(ctx, s.a.clusterID)
		if err != nil {
			head.Revision = 0
		}
		send(sight{revision: head.Revision, at: at, auth: now})
	}, func(err error) { send(sight{err: err}) })()
}

// saw records the revision of the cluster. It returns ErrSilent if the watch has returned nothing for long that the cluster had.
func (s *session) saw(seen sight) error {
	s.looking = false
	if seen.err != nil || seen.revision == 0 {
		return seen.err
	}
	s.a.saw(seen)
	if s.open == nil && !s.verify && seen.revision == s.chain.Last && s.bases.covered.Keeps(seen.auth) {
		s.a.update(func(status *Status) {
			if status.Stored.Revision == s.chain.Last {
				status.Progress = archive.Point{Revision: s.chain.Last, At: seen.at}
			}
		})
	}
	switch {
	case seen.revision <= s.last() || s.uploads.full():
		s.late = sight{}
	case s.late.revision == 0 || s.touched.After(s.late.at):
		s.late = seen
	case seen.at.Sub(s.late.at) >= s.a.MaxSilence:
		return fmt.Errorf("%w: revision %d was received, and the cluster had %d %s ago", ErrSilent, s.last(), s.late.revision, seen.at.Sub(s.late.at).Round(time.Second))
	}
	return nil
}

// last is the last revision that was received, perhaps in part.
func (s *session) last() int64 {
	if s.open != nil {
		return s.open.writer.Last()
	}
	return s.chain.Last
}

// saw adds a sight for the status.
func (a *Archiver) saw(seen sight) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status.Head = max(a.status.Head, seen.revision)
	if n := len(a.sights); n == maxSights {
		a.sights = a.sights[:n-1] // the lag is too high rather than too low
	}
	a.sights = append(a.sights, seen)
	a.settle()
}
