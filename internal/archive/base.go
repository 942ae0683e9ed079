package archive

import (
	"fmt"
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

// NewStart returns the start of a timeline.
func NewStart(t Timeline, clusterID uint64, base Base, reason string) Start {
	return Start{
		FormatVersion: FormatVersion, Kind: kindStart, Timeline: t, ClusterID: fmt.Sprintf("%016x", clusterID),
		Base: base.Point, BaseKey: base.Key, AuthRevision: base.Auth.Revision, AuthEnabled: base.Auth.Enabled, Reason: reason,
	}
}

// NewGap returns a link that records lost events up to the revision of a new base snapshot.
func NewGap(chain Chain, base Base, compactRevision int64, reason string) Header {
	h := Header{
		FormatVersion: FormatVersion, Kind: kindGap, Timeline: chain.Timeline, First: chain.Last + 1, Last: base.Point.Revision, Number: chain.Number + 1,
		Previous: chain.Hash, Points: []Point{base.Point}, CompactRevision: compactRevision, Reason: reason,
		Unbroken: base.Point.Revision,
	}
	h.setAuth(base.Auth, base.Auth)
	return h
}

// Link is a link of a chain and its key.
type Link struct {
	Key    string
	Header Header
}

// Held returns how many bytes the header of the link counts while it is held.
func (l Link) Held() int64 { return int64(l.Header.size) }

// Names are the keys of one timeline, in the order of its chain.
type Names struct {
	Timeline Timeline
	Started  bool // there is a start object
	Links    []Name
	// Begun is when the store received the start, and Stored is when it received the last link, by its own clock. They are zero if the listing has
	// no such object.
	Begun, Stored time.Time
	// Omitted is how many links are listed and not held, because the archive has more names than are held.
	Omitted int
	// oldest is the first revision of the oldest link that is listed, held or not. No link that begins before floor is held.
	oldest, floor int64
}

// MaxLinks limits the links between a base and a target, because one search reads their headers. At a segment every 5 seconds, these are
// those of 27 hours.
const MaxLinks = 20_000

// Target is what a restore asks for: a revision, or the state at a time.
type Target struct {
	Revision int64
	Time     time.Time // if Revision is 0
}

func above(p Point, target Target) bool {
	if target.Revision > 0 {
		return p.Revision > target.Revision
	}
	return p.At.After(target.Time)
}

// begins returns the first revision of the oldest link, held or not. It is 0 if there is none.
func (n Names) begins() int64 {
	if n.oldest == 0 && len(n.Links) > 0 {
		return n.Links[0].first
	}
	return n.oldest
}

// Between returns how many links a replay from one revision to another one needs.
func (n Names) Between(from, to int64) int {
	count := 0
	for i, link := range n.Links {
		ends := int64(0)
		if i+1 < len(n.Links) {
			ends = n.Links[i+1].first
		}
		if link.first <= to && (ends == 0 || ends > from+1) {
			count++
		}
	}
	return count
}

// Revisions are those from First to Last.
type Revisions struct{ First, Last int64 }

func (t Target) String() string {
	if t.Revision > 0 {
		return fmt.Sprintf("revision %d", t.Revision)
	}
	return t.Time.UTC().Format(time.RFC3339Nano)
}

func below(p Point, target Target) bool {
	if target.Revision > 0 {
		return p.Revision < target.Revision
	}
	return p.At.Before(target.Time)
}
