// Package spool admits work to a directory for temporary files. Each job reserves its bytes before it writes them, so that
// concurrent jobs fill neither the volume nor the disk of the node.
package spool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
)

// ErrTooSmall means that the directory can never hold what a job needs, even without other jobs.
var ErrTooSmall = errors.New("the spool volume is too small")

// ErrFull means that other jobs use the space at present.
var ErrFull = errors.New("the spool volume is full")

// slack is the part of the limit that is not given to jobs: the file system and the kubelet count more than the files.
const slack = 16

// Options of a Spool.
type Options struct {
	// Limit is the size of the volume in bytes. 0 means that only the free space of the file system limits the jobs.
	Limit int64
	// KeepFree is how many percent of the file system the jobs leave free. The kubelet evicts Pods below 10 % by default.
	KeepFree int
	// Urgent is how many percent of Limit the other jobs leave free for urgent ones. A job that needs more than the rest runs alone.
	Urgent int
}

// Spool is a directory with a budget of bytes. It is safe for concurrent use.
type Spool struct {
	dir    string
	limit  int64
	keep   int
	urgent int64 // bytes of limit
	space  func(dir string) (free, total int64, err error)
	mu     sync.Mutex
	used   int64
	shares int
	queue  []*request
}

// Share is the part of a Spool that one job has reserved.
type Share struct {
	spool *Spool
	bytes int64
}

type request struct {
	bytes  int64
	urgent bool
	ready  chan error // of size 1
}

// New returns the spool in dir.
func New(dir string, o Options) *Spool {
	limit := o.Limit - o.Limit/slack
	return &Spool{dir: dir, limit: limit, keep: o.KeepFree, urgent: limit / 100 * int64(o.Urgent), space: space}
}

// Dir returns the directory.
func (s *Spool) Dir() string { return s.dir }

// Reserve waits until the spool has room for that many bytes. Jobs are admitted in the order of their calls. The error is
// ErrTooSmall if waiting does not help.
func (s *Spool) Reserve(ctx context.Context, bytes int64) (*Share, error) {
	return s.wait(ctx, &request{bytes: bytes, ready: make(chan error, 1)})
}

// ReserveUrgent is Reserve for a job that comes before all others that wait. It may use the part that they leave free.
func (s *Spool) ReserveUrgent(ctx context.Context, bytes int64) (*Share, error) {
	return s.wait(ctx, &request{bytes: bytes, urgent: true, ready: make(chan error, 1)})
}

func (s *Spool) wait(ctx context.Context, r *request) (*Share, error) {
	s.mu.Lock()
	s.enqueue(r)
	s.admit()
	s.mu.Unlock()
	var err error
	select {
	case err = <-r.ready:
	case <-ctx.Done():
		err = s.leave(r, context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	return &Share{spool: s, bytes: r.bytes}, nil
}

// enqueue puts an urgent request behind other urgent ones, and another request at the end.
func (s *Spool) enqueue(r *request) {
	at := len(s.queue)
	if r.urgent {
		at = slices.IndexFunc(append(slices.Clone(s.queue), &request{}), func(waiting *request) bool { return !waiting.urgent })
	}
	s.queue = slices.Insert(s.queue, at, r)
}

// leave removes a request whose context has ended. If it was admitted meanwhile, leave returns its space.
func (s *Spool) leave(r *request, cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, waiting := range s.queue {
		if waiting == r {
			s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
			s.admit()
			return cause
		}
	}
	if err := <-r.ready; err == nil {
		s.used, s.shares = s.used-r.bytes, s.shares-1
		s.admit()
	}
	return cause
}

// admit answers requests from the head of the queue until one has to wait.
func (s *Spool) admit() {
	for len(s.queue) > 0 {
		head := s.queue[0]
		err := s.fits(head.bytes, 0)
		if err == nil && !head.urgent && s.limit > 0 && s.shares > 0 && s.used+head.bytes > s.limit-s.urgent {
			return
		}
		if errors.Is(err, ErrFull) {
			return
		}
		if err == nil {
			s.used, s.shares = s.used+head.bytes, s.shares+1
		}
		s.queue = s.queue[1:]
		head.ready <- err
	}
}

// fits returns nil if that many more bytes fit, of which the job has written some. Bytes that others have reserved and written count twice on the disk. That
// delays a job until the others end, and refuses none.
func (s *Spool) fits(bytes, written int64) error {
	const mib = 1 << 20
	if s.limit > 0 && s.used+bytes > s.limit {
		return fmt.Errorf("%w: it has %d MiB for snapshots, and this one needs %d MiB", s.kind(bytes > s.limit), s.limit/mib, bytes/mib)
	}
	free, total, err := s.space(s.dir)
	if err != nil {
		return fmt.Errorf("read the free space of %s: %w", s.dir, err)
	}
	if free -= total / 100 * int64(s.keep); s.used+bytes-written > free {
		return fmt.Errorf("%w: the disk has %d MiB for snapshots (%d %% of it are left free), and this one needs %d MiB",
			s.kind(bytes > free+s.used), max(free, 0)/mib, s.keep, bytes/mib)
	}
	return nil
}

// kind returns ErrTooSmall if the other jobs' space would not help, so that the job does not block those behind it.
func (s *Spool) kind(never bool) error {
	if never || s.shares == 0 {
		return ErrTooSmall
	}
	return ErrFull
}

// Grow makes the share at least that large, without waiting: a job that holds space must not wait for more. written is how
// many of the bytes are on the disk already. Grow does nothing for a nil Share.
func (h *Share) Grow(bytes, written int64) error {
	if h == nil || bytes <= h.bytes {
		return nil
	}
	s := h.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used, s.shares = s.used-h.bytes, s.shares-1
	defer func() { s.used, s.shares = s.used+h.bytes, s.shares+1 }()
	if err := s.fits(bytes, min(written, h.bytes)); err != nil {
		return err
	}
	h.bytes = bytes
	return nil
}

// Release returns the space. The files must be deleted before. Call it once.
func (h *Share) Release() {
	if h == nil {
		return
	}
	s := h.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used, s.shares = s.used-h.bytes, s.shares-1
	s.admit()
}

// Hold waits like Reserve, for a job that does not end by itself. The space is missing in the limit until release is called, so a
// larger job fails at once instead of waiting for this one.
func (s *Spool) Hold(ctx context.Context, bytes int64) (release func(), err error) {
	if _, err := s.Reserve(ctx, bytes); err != nil {
		return nil, err
	}
	s.lend(bytes)
	return func() { s.lend(-bytes) }, nil
}

// lend takes reserved bytes out of the limit, or returns them to it if they are negative.
func (s *Spool) lend(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limit > 0 {
		s.limit -= bytes
	}
	if bytes > 0 {
		s.used, s.shares = s.used-bytes, s.shares-1
	}
	s.admit()
}

// Usage returns how many bytes are reserved, the limit (0 if there is none), and how many jobs wait for space.
func (s *Spool) Usage() (reserved, limit int64, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.limit, len(s.queue)
}

// space returns how many bytes a user who is not root can still write to the file system of dir, and its size.
func space(dir string) (free, total int64, err error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0, 0, err
	}
	return int64(stat.Bavail) * stat.Bsize, int64(stat.Blocks) * stat.Bsize, nil //nolint:gosec // no disk is that large
}
