package objstore

import (
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// slowLook is between two looks at the pace of a listing, and slowMost is how long it may be slow while others lack memory.
	slowLook, slowMost = 15 * time.Second, time.Minute
	// slowName is the time for a name below which a listing is not slow. Stores list 1,000 names in a second or less.
	slowName = 10 * time.Millisecond
)

// slowness is how slowly a store lists. What it has listed is in memory until the end, and the store decides when that is.
type slowness struct {
	names, spent atomic.Int64              // spent in nanoseconds, by the store
	asked        atomic.Pointer[time.Time] // when the store was asked for the next name; nil while the caller works
	timer        *time.Timer
	// took and listed were spent and names at the last look, and slow is for how long the store has listed little since. Only look uses them.
	took, slow time.Duration
	listed     int64
}

// asks records when the store is asked for the next name.
func (s *slowness) asks(at time.Time) { s.asked.Store(&at) }

// named records that the store has returned a name after that time.
func (s *slowness) named(after time.Duration) {
	s.asked.Store(nil)
	s.names.Add(1)
	s.spent.Add(int64(after))
}

// look returns why a listing ends: it was slow for some time, and others lack the memory of which its namespace has much. waited is how long its present request has
// waited for a turn.
func (s *slowness) look(namespace string, waited time.Duration) error {
	names, took := s.names.Load(), time.Duration(s.spent.Load())
	if asked := s.asked.Load(); asked != nil {
		took += time.Since(*asked) - waited
	}
	if now := took - s.took; now < slowLook/2 || now < time.Duration(names-s.listed)*slowName {
		s.slow = 0
	} else {
		s.slow += now
	}
	s.took, s.listed = took, names
	if s.slow > slowMost && othersLack(namespace) {
		return fmt.Errorf("%w: the store has listed little for %s, and other namespaces lack the memory that its names take", ErrMemory, s.slow.Round(time.Second))
	}
	return nil
}
