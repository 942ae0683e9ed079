package worker

import (
	"context"
	"time"
)

// ticket is what the scheduler knows of a job.
type ticket struct {
	key    Key
	claim  Claim
	ctx    context.Context //nolint:containedctx // the job owns it
	cancel context.CancelCauseFunc
	queued bool // it could not start at once
	began  bool
	over   bool          // it has returned, also if it was forgotten
	away   bool          // it has left its lane while it waits elsewhere
	waits  int           // for how much it waits
	moved  bool          // Move has moved it
	since  time.Time     // when it began
	timer  *time.Timer   // set if its claim has a patience
	beyond bool          // it runs without a slot, because its patience is over
	back   chan struct{} // closed when it is back in its lane
	ends   bool          // it has to end: for others, or because it was forgotten
	longer bool          // it is extended, see Turn
	queues elsewhere     // in which it waits
}

// ran returns for how long a job has run, without the time in which it waited elsewhere.
func (j *ticket) ran() time.Duration { return time.Since(j.since) - j.queues.sum }

// elsewhere measures for how long a job waits in other queues.
type elsewhere struct {
	in    int
	since time.Time
	sum   time.Duration
}

func (e *elsewhere) enter() {
	if e.in++; e.in == 1 {
		e.since = time.Now()
	}
}

func (e *elsewhere) leave() {
	if e.in--; e.in == 0 {
		e.sum += time.Since(e.since)
	}
}
