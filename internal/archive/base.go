package archive

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/auth"
)

// History is one timeline with all its headers.
type History struct {
	Start Start
	Links []Link
	// Progress is a later point than that of the last link, up to which etcd had no more events; nil if it is not known.
	Progress *Point

	own  []Base // of the timeline; nil if they are not known
	next *Start // of the next timeline with this cluster ID; nil if there is none, or before linked
}

// Base is a snapshot that a replay can begin with.
type Base struct {
	Key       string
	ClusterID string // 16 hex digits
	// Point is the revision in the snapshot's database, and a time before which that revision was written.
	Point Point
	// Captured means that Point has the time at which the member began to send, and not a later one.
	Captured bool
	// Stored is when the store received it, by the clock of the store. It is zero if that is not known.
	Stored time.Time
	// Auth is the state of authentication in the snapshot's database.
	Auth auth.State
	// Recovery is that of the cluster when the snapshot was taken, see Start.Recovery. It is empty if there was none, or if that is not known.
	Recovery string
}

// Choice is how to reach a target.
type Choice struct {
	Timeline Timeline
	Base     Base
	// Links to replay after the base, in order. There are none if the base is the target.
	Links []Link
	// Chain is what the first link must follow.
	Chain Chain
	// Reached is the point that is restored. For a time it is the last one that the archive has up to that time.
	Reached Point
	// Resolution is how much later the next revision may have been written: changes between Reached and that are not
	// restored. It is 0 for a revision.
	Resolution time.Duration
}

// Range is a part of a timeline in which each revision can be restored.
type Range struct {
	Timeline Timeline
	From, To Point
	// Lost is that of the timeline, see Start.
	Lost bool
	// Hidden are those of its revisions that newer timelines had, so that only a time restores them from this one. They are in ascending order.
	Hidden []Revisions
}
