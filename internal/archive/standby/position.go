package standby

import (
	"fmt"
	"math"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
)

// allEvents means that all events of a revision are in the database.
const allEvents = math.MaxInt64

// position is how far the archive was applied.
type position struct {
	// Base is the key of the snapshot that the database began with.
	Base string `json:"base"`
	// Start is the SHA-256 of the start of the timeline. It is empty if the store did not return it.
	Start string `json:"start,omitempty"`
	// Chain is the end of the last link that was applied as a whole.
	Chain archive.Chain `json:"chain"`
	// Next is the key of the first link after the base. It is empty if it follows from Chain.
	Next string `json:"next,omitempty"`
	// Revision is the last one of which events are in the database, and Events is how many of them.
	Revision int64 `json:"revision"`
	Events   int64 `json:"events"`
	// At is a time before which Revision was written, as far as it is known.
	At time.Time `json:"at"`
	// Leased means that an event since the base has a lease.
	Leased bool       `json:"leased,omitempty"`
	Auth   auth.State `json:"auth"`
}

// whole returns the last revision that is in the database as a whole.
func (p position) whole() int64 {
	if p.Revision > p.Chain.Last && p.Events != allEvents {
		return p.Revision - 1
	}
	return p.Revision
}

// key returns the key of the next link.
func (p position) key(root string) string {
	if p.Next != "" {
		return p.Next
	}
	return archive.LinkKey(root, p.Chain.Timeline, p.Chain.At, p.Chain.Last+1)
}

// other reports whether the start of the timeline is another one than when the follower began.
func (p position) other(start string) bool { return p.Start != "" && start != "" && p.Start != start }

// broken is why nothing after the position can be applied.
func (p position) broken(cause Cause, err error) error {
	return &Broken{Cause: cause, Timeline: p.Chain.Timeline, Revision: p.whole() + 1, Err: err}
}

func (p position) replaced() error {
	return p.broken(Replaced, fmt.Errorf("timeline %d has another start, so it is another archive", p.Chain.Timeline))
}
