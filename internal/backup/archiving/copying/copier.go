package copying

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// Spec is what a copier is started with.
type Spec struct {
	job    state.JobSpec
	maxLag time.Duration
	// prunes is true if old parts of the copy may be deleted.
	prunes bool
	// seen names the newest copied snapshot and the last proof. With other ones, other ranges can be restored.
	seen string
}

// SpecOf returns what a copier is started with, and nil if none is to run.
func SpecOf(s state.State) *Spec {
	if !state.ArchiveCopied(s) {
		return nil
	}
	o := state.JobSpecOf(s)
	o.Request, o.Base = "", ""
	spec := &Spec{job: o, maxLag: state.MaxLag(s.Spec.Continuous), prunes: state.CopyPrunes(s), seen: s.Status.Copies.Newest.Path}
	if proof := state.LastProof(s); proof != nil {
		spec.seen += " " + string(proof.Result) + " " + proof.From + " " + proof.To
	}
	return spec
}

// same reports whether a copier can go on with another spec.
func same(a, b Spec) bool {
	return a.job.Cluster == b.job.Cluster && reflect.DeepEqual(a.job.Target, b.job.Target) && reflect.DeepEqual(a.job.Copy, b.job.Copy)
}

// stored is up to where an archiver had stored what etcd had acknowledged by a time.
type stored struct {
	timeline archive.Timeline
	revision int64
	safe     time.Time
}

// after reports whether it is later than the end of a chain.
func (s stored) after(at archive.Chain) bool {
	return s.timeline > at.Timeline || s.timeline == at.Timeline && s.revision > at.Last
}

// maxStored limits what is remembered while the second location is down.
const maxStored = 1000

// Copier copies one archive to its second location.
type Copier struct {
	key    worker.Key
	cancel context.CancelFunc
	notify func()
	news   chan struct{} // has an element after something was stored, and after a change of the spec

	mu     sync.Mutex
	spec   Spec
	again  bool // the second location is to be looked at again
	view   state.ArchiveCopy
	head   archiver.Status // what the archiver has stored; without a timeline, none runs
	stored []stored        // that is not copied yet, oldest first
	safe   time.Time       // what etcd had acknowledged by then is copied; zero if that is not known
}

// accepts changes the spec, unless the copier has to start again for that.
func (c *Copier) accepts(spec Spec) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !same(c.spec, spec) {
		return false
	}
	if c.spec.seen != spec.seen || c.spec.job.Keep.Window != spec.job.Keep.Window || !c.spec.prunes && spec.prunes {
		c.again = true
		c.signal()
	}
	c.spec = spec
	return true
}

// signal wakes the copier.
func (c *Copier) signal() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

func (c *Copier) current() Spec {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spec
}

func (c *Copier) look() *state.ArchiveCopy {
	c.mu.Lock()
	defer c.mu.Unlock()
	view := c.view
	return &view
}

func (c *Copier) update(change func(*state.ArchiveCopy)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.view)
}

// wantsLook returns once after each change that makes the second location worth a look.
func (c *Copier) wantsLook() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	wants := c.again
	c.again = false
	return wants
}

// offer notes what the archiver has stored. An older timeline is that of an archiver which was stopped, and stores its last segments.
func (c *Copier) offer(status archiver.Status) {
	if status.Timeline == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if status.Timeline < c.head.Timeline {
		c.again = true
	}
	more := status.Timeline != c.head.Timeline || status.Stored.Revision != c.head.Stored.Revision
	c.head = status
	next := stored{status.Timeline, status.Stored.Revision, status.Safe}
	n := len(c.stored)
	switch {
	case n > 0 && c.stored[n-1].timeline == next.timeline && c.stored[n-1].revision == next.revision:
		c.stored[n-1] = next
	case n == maxStored: // the lag is too high rather than too low
		c.stored[n-1] = next
	default:
		c.stored = append(c.stored, next)
	}
	if more {
		c.signal()
	}
}

func (c *Copier) offered() archiver.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.head
}

// reached notes up to where the archive is copied. The time of a chain may come from a clock that was ahead.
func (c *Copier) reached(at archive.Chain, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.safe.IsZero() {
		if c.safe = at.At; c.safe.After(now) {
			c.safe = now
		}
	}
	copied := slices.IndexFunc(c.stored, func(s stored) bool { return s.after(at) })
	if copied < 0 {
		copied = len(c.stored)
	}
	if copied > 0 {
		c.safe, c.stored = c.stored[copied-1].safe, slices.Clone(c.stored[copied:])
	}
}

// lag is the age of the last time up to which all is in the second location, if there are changes after it; otherwise it is 0. known is false if
// nothing was copied yet.
func (c *Copier) lag(at archive.Chain, now time.Time) (lag time.Duration, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	whole := c.head.Timeline == at.Timeline && max(c.head.Head, c.head.Received.Revision) <= at.Last
	switch {
	case c.safe.IsZero():
		return 0, false
	case len(c.stored) == 0 && (whole || c.head.Timeline == 0):
		return 0, true
	}
	return max(now.Sub(c.safe), 0), true
}
