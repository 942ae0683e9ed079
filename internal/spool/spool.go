// Package spool admits work to a directory for temporary files. Each job reserves its bytes before it writes them, so that
// concurrent jobs fill neither the volume nor the disk of the node. Namespaces take turns, and each leaves a part to the others.
package spool

import (
	"errors"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// ErrTooSmall means that the directory can never hold what a job needs, even without other jobs.
var ErrTooSmall = errors.New("the spool volume is too small")

// ErrOverLimit is ErrTooSmall for a job that needs more than the limit of the spool.
var ErrOverLimit error = overLimit{}

type overLimit struct{}

func (overLimit) Error() string        { return ErrTooSmall.Error() }
func (overLimit) Is(target error) bool { return target == ErrTooSmall }

// ErrFull means that other jobs use the space at present.
var ErrFull = errors.New("the spool volume is full")

// Options of a Spool.
type Options struct {
	// Limit is the size of the volume in bytes. 0 means that only the free space of the file system limits the jobs.
	Limit int64
	// KeepFree is how many percent of the file system the jobs leave free. The kubelet evicts Pods below 10 % by default.
	KeepFree int
	// Urgent is how many percent of Limit the other jobs leave free for urgent ones. A job that needs more than the rest never fits.
	Urgent int
}

// Spool is a directory with a budget of bytes. It is safe for concurrent use.
//
// Of the jobs that wait and fit, the one of the namespace that holds the least is admitted first. Several jobs of one namespace hold at
// most half of the budget, beside one that is larger. All jobs of a namespace leave a part to others. They are admitted in the order in which
// they came.
//
// With Options.Urgent, a part is only for urgent jobs. The urgent jobs of one namespace leave half of it to those of others.
//
// A job that waits for other namespaces is overtaken only by jobs that fit beside it. So it waits at most for the end of the jobs that ran
// when its wait began. A job that waits for its own namespace delays no other one.
type Spool struct {
	dir string
	// total is what all jobs may reserve, and single is what those of one namespace may. Both are 0 without a limit.
	total, single int64
	keep          int
	urgent        int64 // bytes of total
	space         func(dir string) (free, total int64, err error)

	mu   sync.Mutex
	used int64
	// urgents is what urgent jobs use of that.
	urgents int64
	// written is what the jobs have written of used.
	written int64
	// held has the bytes of each namespace, and urgently those of its urgent jobs.
	held, urgently turns.Order
	running        map[*Share]bool
	queue          []*request
	// urgentLately is when each namespace has returned space of an urgent job.
	urgentLately map[string]time.Time
	gifts        []gift
	returning    map[string]int // jobs that have space and wait for a worker, by namespace
	count        uint64         // of admissions and of places in the queue
}

// New returns the spool in dir.
func New(dir string, o Options) *Spool {
	total := o.Limit - o.Limit/slack
	return &Spool{
		dir: dir, total: total, single: o.Limit - o.Limit/toOthers, keep: o.KeepFree, urgent: total / percent * int64(o.Urgent), space: space,
		running: map[*Share]bool{}, returning: map[string]int{}, urgentLately: map[string]time.Time{},
	}
}

// Dir returns the directory.
func (s *Spool) Dir() string { return s.dir }

// Usage returns how many bytes are reserved, how many all jobs can reserve together, and how many jobs wait for space. The limit is 0 if
// there is none.
func (s *Spool) Usage() (reserved, limit int64, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.total, len(s.queue)
}

// gift is that readings of a namespace have ended for an urgent request of another one. All that end for one request are one gift.
type gift struct {
	from    string
	request *request
	at      time.Time
}

// claim is what a job asks for, or what it wants to grow to. place is when its wait began, or when it was admitted.
type claim struct {
	namespace string
	urgent    bool
	bytes     int64
	place     uint64
}

// request is a job that waits.
type request struct {
	namespace string
	bytes     int64
	urgent    bool
	holds     bool       // it does not end by itself, and its caller limits how many of its namespace there are
	ready     chan error // of size 1
	share     *Share     // if it was admitted
	// place is its number among those that wait for other namespaces. It is 0 before it waits for them first, and while an earlier one of its namespace has
	// a place: otherwise, one namespace could take all places with many requests.
	place uint64
	since time.Time // when it got its place
	// apart is the last admission while it waited for its own namespace, or for a job that its namespace has overtaken before.
	apart uint64
	why   turns.Reason
	// overtaken are the namespaces whose large urgent jobs have overtaken it since it has waited for too long.
	overtaken map[string]bool
}

// lane are the requests of a namespace that are admitted in the order in which they came.
type lane struct {
	namespace string
	urgent    bool
}

// Share is the part of a Spool that one job has reserved.
type Share struct {
	spool     *Spool
	namespace string
	urgent    bool
	bytes     int64
	written   int64 // of bytes, as the job has reported
	admitted  uint64
	place     uint64    // that of its request, or admitted if it had none
	since     time.Time // when it was admitted
	again     bool      // its namespace has had space for another urgent job lately
	gave      bool      // it has to give way
	stays     bool      // it does not give way any more
	// of is the share that this one is a part of, beside that many bytes of other files.
	of     *Share
	beside int64
}
