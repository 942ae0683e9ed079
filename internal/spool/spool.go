// Package spool admits work to a directory for temporary files. Each job reserves its bytes before it writes them, so that
// concurrent jobs fill neither the volume nor the disk of the node. Namespaces take turns, and each leaves a part to the others.
package spool

import (
	"errors"
	"fmt"
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

const (
	// slack is the part of the limit that is not given to jobs: the file system and the kubelet count more than the files.
	slack = 32
	// toOthers is the part that the jobs of one namespace leave to the file system and to other namespaces. One large job leaves it, too.
	toOthers = 16
	// fairShare is the part that several jobs of one namespace may hold together, beside one that is larger.
	fairShare = 2
	percent   = 100
)

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

// Largest returns how many bytes one job can reserve that is not urgent; 0 if there is no limit.
func (s *Spool) Largest() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most(false)
}

// most returns how many bytes one namespace may hold, so also one job, after it has taken a job of that kind.
func (s *Spool) most(urgent bool) int64 {
	if urgent {
		return s.single - s.urgent/2
	}
	return s.single - s.urgent
}

// fits returns nil if that many more bytes fit for a job that may have at most that many. It has written some of them. The free space of the
// disk lacks already what others have written, so only the rest of their bytes is missing.
func (s *Spool) fits(most, bytes, written int64) error {
	const mib = 1 << 20
	if bytes < 0 { // a sum that has overflowed; counted, it would give others more space than there is
		return fmt.Errorf("%w: the size that was announced is larger than any file", ErrTooSmall)
	}
	if s.total > 0 && bytes > most {
		return fmt.Errorf("%w: it has %d MiB for one snapshot, and this one needs more than %d MiB", ErrOverLimit, most/mib, (bytes-1)/mib)
	}
	if s.total > 0 && bytes > s.total-s.used {
		return fmt.Errorf("%w: it has %d MiB for snapshots, and this one needs %d MiB", s.kind(false), s.total/mib, bytes/mib)
	}
	free, total, err := s.space(s.dir)
	if err != nil {
		return fmt.Errorf("read the free space of %s: %w", s.dir, err)
	}
	if free -= total / percent * int64(s.keep); bytes > free-(s.used-s.written)+written {
		return fmt.Errorf("%w: the disk has %d MiB for snapshots (%d %% of it are left free), and this one needs %d MiB",
			s.kind(bytes-written-s.used > free), max(free, 0)/mib, s.keep, bytes/mib)
	}
	return nil
}

// kind returns ErrTooSmall if the other jobs' space would not help, so that the job does not wait for it.
func (s *Spool) kind(never bool) error {
	if never || len(s.running) == 0 {
		return ErrTooSmall
	}
	return ErrFull
}

// overShare returns whether a namespace would hold more than one may, with that many more bytes: all its jobs together, or those of a kind. beside are other
// jobs that it does not have yet. A job that is larger than what several may hold does not count among them, so that others of its namespace run beside it.
func (s *Spool) overShare(namespace string, urgent bool, bytes int64, beside ...int64) bool {
	if s.total == 0 {
		return false
	}
	all, several, most := s.held.Held(namespace), int64(0), s.total/fairShare
	count := func(held int64) {
		if held <= most {
			several += held
		}
	}
	for share := range s.running {
		if share.namespace == namespace && share.urgent == urgent {
			count(share.bytes)
		}
	}
	for _, held := range beside {
		all += held
		count(held)
	}
	return several > 0 && several+bytes > most || all > 0 && all+bytes > s.most(urgent)
}

// add counts the bytes of a share.
func (s *Spool) add(h *Share) {
	s.used, s.written = s.used+h.bytes, s.written+h.written
	if h.bytes > 0 { // nothing waits for the end of a job that holds nothing
		s.running[h] = true
	}
	s.held.Take(h.namespace, h.bytes)
	if h.urgent {
		s.urgents += h.bytes
		s.urgently.Take(h.namespace, h.bytes)
	}
}

func (s *Spool) remove(h *Share) {
	s.used, s.written = s.used-h.bytes, s.written-h.written
	delete(s.running, h)
	s.held.Return(h.namespace, h.bytes)
	if h.urgent {
		s.urgents -= h.bytes
		s.urgently.Return(h.namespace, h.bytes)
	}
}
