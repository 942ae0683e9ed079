package archiver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
)

// New returns an archiver that does nothing until Run.
func New(o Options) *Archiver {
	return &Archiver{Options: o.withDefaults(), status: Status{BaseOwed: o.BaseOwed}}
}

// maxAgain is how often an archiver begins again in a row without a change that it stores. A cluster that was replaced after lost events needs three.
const maxAgain = 3

// ErrRepeats means that the archiver has begun again and again. The store may not return what it has, or the members answer something else each time.
var ErrRepeats = errors.New("the archiver has begun again several times without a change to store")

// Run archives until ctx ends or something fails. Then the caller calls it again, after a pause. The error is ErrFenced if
// another archiver works on the same archive. It is ErrRepeats if the archiver would only repeat what it has done.
func (a *Archiver) Run(ctx context.Context) error {
	for repeats := 0; ; repeats++ {
		stored := a.Status().Segments
		err := a.runOnce(ctx)
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return context.Cause(ctx) // stopped between two sessions
		}
		if !errors.Is(err, errAgain) {
			return err
		}
		if a.Status().Segments > stored {
			repeats = 0
		}
		if repeats == maxAgain {
			return fmt.Errorf("%w: %w", ErrRepeats, err)
		}
	}
}

func (a *Archiver) runOnce(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := cleanSpool(a.Dir); err != nil {
		return fmt.Errorf("empty the spool: %w", err)
	}
	if err := a.grow(0, 0); err != nil {
		return err
	}
	chain, err := a.resume(ctx)
	if err != nil {
		return err
	}
	stored := archive.Point{Revision: chain.Last, At: chain.At}
	a.update(func(s *Status) {
		s.Timeline, s.Unbroken, s.Blocked = chain.Timeline, chain.Unbroken, false
		s.Stored, s.Received, s.Progress = stored, stored, stored
		if s.Safe = a.Now(); chain.At.Before(s.Safe) {
			s.Safe = chain.At
		}
		s.Head, a.sights = 0, nil
	})
	now, err := a.Cluster.Auth(ctx, a.clusterID)
	if err != nil {
		return err
	}
	// The last archived revision is read again, to compare its events with those in the archive. If they are not known, it still is: a
	// watch from the compacted revision may miss deletions, and one from before it is refused.
	stream, err := a.Cluster.Watch(ctx, chain.Last)
	if err != nil {
		return err
	}
	s := &session{a: a, stream: stream, chain: chain, auth: now, bases: authBases{a: a}, leases: newLeases(a.Cluster, a.clusterID, a.Memory), begun: chain.Last, verify: chain.Tail != "", sights: make(chan sight)}
	if s.asked = a.began.at; a.began.revision > chain.Last {
		s.missed = a.began.revision
	}
	s.uploads = a.startUploader(context.WithoutCancel(ctx))
	s.room = room{a: a, uploads: s.uploads}
	s.bases.cover(chain.Auth, true) // if there is none with it, this is found out below
	// An archiver before this one may have ended before it took a base.
	if !chain.Auth.Keeps(now) || chain.AuthChanged || a.Status().BaseOwed {
		s.bases.take(ctx, s.auth)
	}
	defer s.leases.drop()
	return s.end(ctx, s.run(ctx))
}

func (s *session) run(ctx context.Context) error {
	wanted := make(chan struct{}, 1)
	s.inbox = inbox{memory: s.a.Memory, full: s.uploads.full, wanted: wanted, responses: reader(ctx, s.stream, wanted)}
	defer s.drop()
	// A segment is at most MaxLag old when it is sealed.
	tick := time.NewTicker(s.a.sealInterval())
	defer tick.Stop()
	progress := time.NewTicker(min(s.a.MaxLag, headInterval))
	defer progress.Stop()
	for {
		if len(s.ahead) > 0 && (s.ended || !s.uploads.full()) {
			if err := handle(ctx, s, s.next()); err != nil {
				return err
			}
			continue
		}
		if len(s.ahead) == 0 {
			s.request()
		}
		var err error
		select {
		case next := <-s.responses:
			s.read(next)
		case <-tick.C:
			err = s.tick(ctx)
		case <-progress.C:
			err = s.progress(ctx)
		case seen := <-s.sights:
			err = s.saw(seen)
		case base := <-s.bases.next:
			err = s.bases.took(ctx, base, s.auth)
		case <-s.uploads.freed:
			err = s.room.shrink(s.open.size())
		case <-s.uploads.done:
			err = s.uploads.err
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// handle handles a response, and returns its memory.
func handle(ctx context.Context, s *session, r received) error {
	defer r.release()
	return s.response(ctx, r)
}

func (s *session) response(ctx context.Context, r received) error {
	if r.err != nil {
		return r.err
	}
	if r.Compacted > 0 {
		s.a.compacted = max(s.a.compacted, r.Compacted)
		return errCompacted
	}
	if r.Head.ClusterID != s.a.clusterID {
		return errReplaced // resume begins a timeline
	}
	now := s.a.Now()
	if len(r.Events) > 0 {
		s.touched = now
	}
	for _, event := range r.Events {
		revision := event.GetKv().GetModRevision()
		if revision <= s.begun {
			if err := s.tail.Add(event); err != nil {
				return err
			}
			continue
		}
		if err := s.verified(ctx); err != nil {
			return err
		}
		if s.open != nil && revision != s.open.writer.Last() && s.wantsCut(now) {
			s.partial = false
			if err := s.cut(ctx); err != nil {
				return err
			}
		}
		if s.open == nil {
			var err error
			if s.open, err = newOpen(s.a.Dir, s.chain, s.auth, s.oldest(now)); err != nil {
				return err
			}
		}
		if err := s.add(ctx, event, now); err != nil {
			return err
		}
	}
	return s.received(ctx, r, now)
}

// received notes the end of a response.
func (s *session) received(ctx context.Context, r received, now time.Time) error {
	s.partial = r.More
	if len(r.Events) > 0 && !r.More {
		if err := s.verified(ctx); err != nil {
			return err
		}
	}
	if s.open != nil && !s.partial {
		at := archive.Point{Revision: s.open.writer.Last(), At: now}
		s.a.update(func(status *Status) { status.Received = at })
	}
	if s.missed > 0 && !s.partial && s.last() >= s.missed {
		s.missed = 0
		if s.open != nil {
			return s.cut(ctx)
		}
	}
	return s.tick(ctx)
}

// verified compares the last archived revision with the same revision in etcd, when all of its events were received.
func (s *session) verified(ctx context.Context) error {
	if !s.verify {
		return nil
	}
	s.verify = false
	switch s.tail.Sum() {
	case s.chain.Tail:
		return nil
	case "": // a watch from the compacted revision does not return a deletion in older versions of etcd
		s.a.compacted = max(s.a.compacted, s.begun)
		return errCompacted
	}
	partly, err := s.compactedThere(ctx)
	if err != nil {
		return err
	}
	if partly {
		return s.a.begin(ctx, s.chain.Timeline+1, reasonPartly)
	}
	return s.a.begin(ctx, s.chain.Timeline+1, reasonDiverged)
}

// progress looks at the revision of the cluster, and at the users of an idle one.
func (s *session) progress(ctx context.Context) error {
	s.lookAhead(ctx)
	if s.open != nil {
		return nil
	}
	before := s.auth
	if err := s.readAuth(ctx); err != nil {
		return err
	}
	if !before.Keeps(s.auth) {
		s.bases.take(ctx, s.auth)
	}
	return nil
}

// compactedThere reports whether etcd is compacted to the last archived revision. Then it may return that revision in part: older versions
// delete its deletions (etcd issue 18089), or leave them out of a watch that begins there (19179).
func (s *session) compactedThere(ctx context.Context) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, rereadTimeout)
	defer cancel()
	stream, err := s.a.Cluster.Watch(limited, s.begun-1)
	for err == nil {
		var r Response
		if r, err = stream.Receive(); err == nil && (r.Compacted > 0 || len(r.Events) > 0) {
			r.release()
			s.a.compacted = max(s.a.compacted, r.Compacted)
			return r.Compacted > 0, nil
		}
	}
	return false, fmt.Errorf("read the revision before the last archived one (%d): %w", s.begun, err)
}
