package standby

import (
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/clock"
)

// Status is how far a follower is.
type Status struct {
	Timeline archive.Timeline
	// Start is the SHA-256 of the start of the timeline. It is empty if the store did not return it.
	Start string
	// Auth is the state of authentication in the database.
	Auth auth.State
	// Base is the key of the snapshot that the database began with. It is empty before the first one.
	Base string
	// Revision is the last one that is in the database as a whole, and At is a time before which it was written.
	Revision int64
	At       time.Time
	// Checked is when the archive had nothing newer. It is zero while there is more to apply.
	Checked time.Time
	// Since is when the archive last had nothing newer, or when this process began.
	Since time.Time
	// Begun is how often this process has begun from a base, and Left is why it left the last one; nil if it has not.
	Begun int
	Left  *Broken
	// Err is why the last step failed; nil if it did not.
	Err error
}

// Lag is how far the database is behind the archive. The archive is behind the cluster by up to its maxLag.
func (s Status) Lag(now time.Time) time.Duration {
	switch {
	case !s.Checked.IsZero():
		return clock.Elapsed(s.Checked, now)
	case clock.Ahead(s.At, now): // the clock of the source was ahead, so its time says nothing
		return clock.Elapsed(s.Since, now)
	}
	return clock.Elapsed(s.At, now)
}

// reporter keeps the status, which others may read while the follower makes a step.
type reporter struct {
	mu     sync.Mutex
	status Status
}

func (r *reporter) current() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// stepped notes how a step has ended, and returns the status. p is nil before the first base.
func (r *reporter) stepped(p *position, err error) Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.status
	if s.Err = err; p != nil {
		if p.whole() != s.Revision || p.Chain.Timeline != s.Timeline {
			s.Checked = time.Time{}
		}
		s.Timeline, s.Start, s.Auth, s.Base, s.Revision, s.At = p.Chain.Timeline, p.Start, p.Auth, p.Base, p.whole(), p.At
	}
	return *s
}

// caughtUp notes that the archive has nothing newer.
func (r *reporter) caughtUp(p position, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Since, r.status.Checked, r.status.Revision, r.status.Timeline = now, now, p.whole(), p.Chain.Timeline
}

// began notes that the follower has begun from a base. broken is why it left the one before; nil if there was none.
func (r *reporter) began(broken *Broken) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Begun++
	if broken != nil {
		r.status.Left = broken
	}
}
