package archiver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
)

// cut seals the open segment, of which all revisions are complete, with the state of authentication of now. If the watch has ended and the members do
// not answer any more, it has the state that was read last, as in flush.
func (s *session) cut(ctx context.Context) error {
	before := s.auth
	if err := s.readAuth(ctx); err != nil && !s.ended {
		return err
	}
	if err := s.seal(ctx); err != nil {
		return err
	}
	if !before.Keeps(s.auth) {
		s.bases.take(ctx, s.auth)
	}
	return nil
}

// tick seals the segment if it is due and its last revision is complete.
func (s *session) tick(ctx context.Context) error {
	if s.open == nil || s.partial || !s.wantsCut(s.a.Now()) {
		return nil
	}
	return s.cut(ctx)
}

// wantsCut returns whether the open segment is to be sealed. If it has the last revision of a cluster that refuses all writes, it is sealed at once. A later
// revision shows that the cluster accepts them again.
func (s *session) wantsCut(now time.Time) bool {
	fenced := s.a.Fence != nil && s.a.Fence() == s.open.writer.Last()
	return fenced || s.open.writer.Size() >= s.a.MaxSize || s.leases.many() || now.Sub(s.open.first) >= mostAge(s)
}

// mostAge is the age at which the open segment is sealed. While many segments wait for the store, their headers take memory, and a further one would not be stored
// earlier. So it gets longer, but its header has a point for each half of a second.
func mostAge(s *session) time.Duration {
	if s.uploads.isBehind() {
		return max(s.a.sealAge(), ageBehind)
	}
	return s.a.sealAge()
}

// ageBehind is the longest MaxLag of the API.
const ageBehind = 10 * time.Minute

// sealAge is how long after its first event was received a segment is sealed. MaxLag counts from the acknowledgement of a change.
func (a *Archiver) sealAge() time.Duration {
	return a.MaxLag - a.sealInterval() - min(Transit, a.MaxLag/10)
}

// Transit is how old a change may be when a Stream returns it, after etcd has acknowledged it.
const Transit = 40 * time.Millisecond

// sealInterval is how often the archiver looks at the age of the open segment. It is short, so that a segment is sealed just before
// MaxLag: earlier means more requests to the store.
func (a *Archiver) sealInterval() time.Duration { return max(a.MaxLag/50, 10*time.Millisecond) }

// oldest returns a time before which etcd has acknowledged nothing of the segment that begins now. The first one after a start may have
// what was acknowledged since the revision of the cluster was read.
func (s *session) oldest(now time.Time) time.Time {
	asked := s.asked
	s.asked = time.Time{}
	if age := now.Sub(asked); age > 0 && age < s.a.MaxLag {
		return asked
	}
	return now
}

// flush seals the open segment. If the members do not answer any more, it has the state of authentication that was read last. If that has
// changed since then, the next segment says so.
func (s *session) flush(ctx context.Context) error {
	if s.open == nil {
		return nil
	}
	if s.partial || s.open.writer.Empty() {
		s.open.discard() // the last revision is not complete
		s.open = nil
		return nil
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAuthTimeout)
	defer cancel()
	_ = s.readAuth(limited)
	return s.seal(ctx)
}

// seal closes the open segment, of which all revisions are complete, and hands it to the uploader.
func (s *session) seal(ctx context.Context) error {
	found, unknown := s.leases.take() // before the turn, because members are asked
	s.a.update(func(status *Status) { status.UnknownLeases = unknown })
	sealed, err := s.sealOpen(context.WithoutCancel(ctx), found)
	if err != nil {
		return err
	}
	s.chain = sealed.header.Chain()
	s.bases.cover(s.chain.Auth, false)
	s.uploads.add(sealed.size)
	return s.uploads.push(ctx, sealed)
}

// sealOpen writes the object of the open segment in its turn.
func (s *session) sealOpen(ctx context.Context, found []archive.Lease) (*sealed, error) {
	done, err := s.a.Memory.Encode(ctx, s.open.writer.Size())
	if err != nil {
		return nil, err
	}
	defer done()
	h, err := s.open.writer.Seal(found, s.auth, s.a.compacted)
	if err != nil {
		s.open.discard()
		s.open = nil
		return nil, fmt.Errorf("seal the segment from revision %d: %w", s.chain.Last+1, err)
	}
	key := archive.LinkKey(s.a.Root, s.chain.Timeline, s.chain.At, h.First)
	complete, err := s.open.seal(s.a.Dir, key, s.a.Encoder, h)
	s.open = nil
	return complete, err
}

// readAuth reads the state of authentication. After an error, the last one is kept. If etcd refuses to answer, authentication is on. After the watch has
// ended, members that did not answer are not asked again.
func (s *session) readAuth(ctx context.Context) error {
	if s.silent != nil {
		return s.silent
	}
	now, err := s.askAuth(ctx)
	if s.ended {
		s.silent = err
	}
	switch {
	case err == nil:
		s.auth = now
	case errors.Is(err, ErrRefused):
		s.auth.Enabled = auth.On
	}
	return err
}

// add writes an event to the open segment. One revision is never divided, and a server that is no etcd may send it without an end. So only the
// spool limits the segment.
func (s *session) add(ctx context.Context, event *mvccpb.Event, now time.Time) error {
	s.partial = true // until the end of the response is known
	if err := s.room.take(s.open.writer.Size(), int64(proto.Size(event))+overhead); err != nil {
		return fmt.Errorf("%w: revision %d, with which the segment has more than %d MiB: %w", ErrRoom, event.GetKv().GetModRevision(), s.open.writer.Size()>>20, err)
	}
	if err := s.open.writer.Add(event, now); err != nil {
		return err
	}
	return s.leases.see(ctx, event.GetKv().GetLease())
}
