package archiver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

const (
	// roomStep is how much more room is reserved at a time, so that few events ask for it.
	roomStep = 4 << 20
	// overhead is more than a record has beside its event.
	overhead = 64
	// headerRoom is for the header of a segment.
	headerRoom = 1 << 20
)

// ErrRoom means that the spool has no room for a revision. A revision is never divided.
var ErrRoom = errors.New("the spool has no room for all of this revision")

// add writes an event to the open segment. One revision is never divided, and a server that is no etcd may send it without an end. So only the
// spool limits the segment.
func (s *session) add(ctx context.Context, event *mvccpb.Event, now time.Time) error {
	s.partial = true // until the end of the response is known
	if err := s.makeRoom(int64(proto.Size(event)) + overhead); err != nil {
		return fmt.Errorf("%w: revision %d, with which the segment has more than %d MiB: %w", ErrRoom, event.GetKv().GetModRevision(), s.open.writer.Size()>>20, err)
	}
	if err := s.open.writer.Add(event, now); err != nil {
		return err
	}
	return s.leases.see(ctx, event.GetKv().GetLease())
}

// makeRoom reserves what the spool needs with that many more bytes in the open segment.
func (s *session) makeRoom(more int64) error {
	need, written := s.spooled(more)
	if need <= s.room {
		return nil
	}
	if err := s.a.grow(need+roomStep, written); err != nil {
		return err
	}
	s.room = need + roomStep
	return nil
}

// shrink returns room that is not needed any more, after an upload.
func (s *session) shrink() error {
	need, written := s.spooled(0)
	if s.room <= need+roomStep {
		return nil
	}
	s.room = need + roomStep
	return s.a.grow(s.room, written)
}

// spooled returns the bytes of the spool. The open segment counts twice, because its object is written beside its records.
func (s *session) spooled(more int64) (need, written int64) {
	if s.open != nil {
		written = s.open.writer.Size()
	}
	need = 2*(written+more) + headerRoom
	s.uploads.mu.Lock()
	defer s.uploads.mu.Unlock()
	return need + s.uploads.waiting, written + s.uploads.waiting
}

func (a *Archiver) grow(bytes, written int64) error {
	if a.Grow == nil {
		return nil
	}
	return a.Grow(bytes, written)
}
