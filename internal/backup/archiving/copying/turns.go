package copying

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive/follower"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/pace"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (
	// Memory is what the links that are copied take in memory in this process.
	Memory = usualCopies + largestCopy
	// largestCopy is what one of them takes at most: 12 MiB in buffers of its store, some MiB while one grows, and the decoder. One large link is copied at a time.
	largestCopy = 24 << 20
	// usualCopies is for the others, and usualCopy is the largest of them: all but those with an extraordinary change. They never wait for a large one.
	usualCopies = 2 * usualCopy
	usualCopy   = limits.Segment + 1<<20 + copyOverhead
	// copyOverhead is what a copy takes beside its link: the decoder and the buffers of two connections.
	copyOverhead = 4 << 20
)

// copyTurns shares the memory of copies between the namespaces. A copy that hardly moves gives it to others after a minute.
type copyTurns struct {
	usual *turns.Budget
	large *turns.Gate
	slow  *slowCopies
}

func newCopyTurns() copyTurns {
	return copyTurns{turns.NewHalvedBudget(usualCopies), turns.NewGate(1), &slowCopies{ends: map[string]time.Time{}}}
}

// slowCopies remembers the large copies that have ended for others because they were slow. A tenant may have a second location in each of many namespaces that
// is a little faster than the slowest one permitted, so a copy that others wait for must be faster. One in slowEvery need not be, so that an
// honest slow location gets its large links, too.
type slowCopies struct {
	mu   sync.Mutex
	ends map[string]time.Time // by namespace: when one has ended, and none was copied since
	last time.Time            // when the last slow one began
}

const (
	// slowEvery is the time between two large copies that may be slow while others wait.
	slowEvery = 20 * time.Minute
	// endsKept is how long an end is remembered.
	endsKept = 24 * time.Hour
)

// floor returns how many bytes a second the next copy of a namespace must move while others wait.
func (s *slowCopies) floor(namespace string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.ends[namespace].IsZero() || !s.last.IsZero() && now.Sub(s.last) < slowEvery {
		return pace.CrowdedFloor
	}
	s.last = now
	return follower.Slowest
}

// ended records how a copy has ended.
func (s *slowCopies) ended(namespace string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(s.ends, func(_ string, at time.Time) bool { return now.Sub(at) > endsKept })
	switch {
	case errors.Is(err, turns.ErrOthersWaited):
		s.ends[namespace] = now
	case err == nil:
		delete(s.ends, namespace)
	}
}

// copiedLinks is one for the process, because the process has one memory.
var copiedLinks = newCopyTurns()

// admit returns what admits the copies of a namespace.
func (c copyTurns) admit(namespace string) func(context.Context, int64, func()) (follower.Held, error) {
	return func(ctx context.Context, bytes int64, waits func()) (follower.Held, error) {
		ctx = turns.WithSlot(ctx, leaving(waits))
		held := follower.Held{}
		var err error
		if needs := max(bytes, 0) + copyOverhead; needs <= usualCopy {
			held.Release, err = c.usual.Wait(ctx, namespace, needs)
			held.Crowded = func() bool { return c.usual.Crowds(namespace) }
		} else {
			held.Release, err = c.large.Enter(ctx, namespace)
			held.Crowded = func() bool { return c.large.Crowds(namespace) }
			held.Floor = c.slow.floor(namespace)
			held.Ended = func(err error) { c.slow.ended(namespace, err) }
		}
		return held, err
	}
}

// leaving is called when a copy has to wait. It is a turns.Slot.
type leaving func()

// Leave is called before the copy waits.
func (l leaving) Leave() { l() }

// Return does nothing, because the copy opens its object again.
func (l leaving) Return(context.Context, bool) {}
