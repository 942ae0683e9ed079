package archiving

import (
	"context"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/follower"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// copyShape is the part of the view whose changes are reported at once. All else waits for the next minute.
type copyShape struct {
	begun, covered, surveyed, delayed, failing bool
	lacking, unread, unpruned, reason          string
	ranges                                     int
	timeline                                   archive.Timeline
}

// copying is the work of one copier.
type copying struct {
	*Copier
	job    *runner
	second objstore.Store
	*follower.Follower

	floor    archive.Floor
	newest   archive.Timeline // in the second location, at the last look
	looked   bool             // the floor is known
	next     time.Time        // when the listings are compared again
	surveyed archive.Chain    // up to where the copy was at the last look
	reported time.Time
	vain     int32 // comparisons in a row after which the next link was still not known
	shown    lookedAt
	prune    pruning
	shape    copyShape
	failed   int32
	leave    func() // its place
}

// lookedAt is what the last look at the second location has found.
type lookedAt struct {
	survey archive.Survey // without names
	known  bool
	proofs []archive.ProofName
	// holds is true if a failed proof there keeps all, and again if what is needed may be less soon.
	holds, again bool
}

// pruning is what is to be deleted in the second location.
type pruning struct {
	outdated []archive.Name
	keys     []string // of proofs
	more     bool
	next     time.Time // after a failure
	held     *objstore.Holding
	// selections are those of the EtcdRestores that were waiting at the last look.
	selections []clients.Selection
}

const (
	// copyMemory is what the links that are copied take in memory in this process.
	copyMemory = usualCopies + largestCopy
	// largestCopy is what one of them takes at most, in buffers of its store. One large link is copied at a time.
	largestCopy = 48 << 20
	// usualCopies is for the others, and usualCopy is the largest of them: all but those with an extraordinary change. They never wait for a large one.
	usualCopies = 2 * usualCopy
	usualCopy   = archiveSegment + 1<<20 + copyOverhead
	// copyOverhead is what a copy takes beside its link: the decoder and the buffers of two connections.
	copyOverhead = 4 << 20
)

// copyTurns shares the memory of copies between the namespaces. A copy that hardly moves gives it to others after a minute.
type copyTurns struct {
	usual *turns.Budget
	large *turns.Gate
}

func newCopyTurns() copyTurns { return copyTurns{turns.NewHalvedBudget(usualCopies), turns.NewGate(1)} }

// copiedLinks is one for the process, because the process has one memory.
var copiedLinks = newCopyTurns()

// admit returns what admits the copies of a namespace.
func (c copyTurns) admit(namespace string) func(context.Context, int64, func()) (archive.Held, error) {
	return func(ctx context.Context, bytes int64, waits func()) (archive.Held, error) {
		ctx = turns.WithSlot(ctx, leaving(waits))
		held := archive.Held{}
		var err error
		if needs := max(bytes, 0) + copyOverhead; needs <= usualCopy {
			held.Release, err = c.usual.Wait(ctx, namespace, needs)
			held.Crowded = func() bool { return c.usual.Crowds(namespace) }
		} else {
			held.Release, err = c.large.Enter(ctx, namespace)
			held.Crowded = func() bool { return c.large.Crowds(namespace) }
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
