package archiver

import (
	"errors"
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

// room is what a session has reserved in the spool.
type room struct {
	a        *Archiver
	uploads  *uploader
	reserved int64
}

// take reserves room in the spool for more bytes in a segment that has open bytes.
func (r *room) take(open, more int64) error {
	need, written := r.spooled(open, more)
	if need <= r.reserved {
		return nil
	}
	if err := r.a.grow(need+roomStep, written); err != nil {
		return err
	}
	r.reserved = need + roomStep
	return nil
}

// shrink returns room that is not needed any more, after an upload.
func (r *room) shrink(open int64) error {
	need, written := r.spooled(open, 0)
	if r.reserved <= need+roomStep {
		return nil
	}
	r.reserved = need + roomStep
	return r.a.grow(r.reserved, written)
}

// spooled returns the bytes of the spool. The open segment counts twice, because its object is written beside its records.
func (r *room) spooled(open, more int64) (need, written int64) {
	need = 2*(open+more) + headerRoom
	r.uploads.mu.Lock()
	defer r.uploads.mu.Unlock()
	return need + r.uploads.waiting, open + r.uploads.waiting
}

func (a *Archiver) grow(bytes, written int64) error {
	if a.Grow == nil {
		return nil
	}
	return a.Grow(bytes, written)
}
