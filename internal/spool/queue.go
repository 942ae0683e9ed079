package spool

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// Namespace is a Spool for the jobs of one namespace.
type Namespace struct {
	spool *Spool
	name  string
}

// Of returns the spool for the jobs of a namespace.
func (s *Spool) Of(namespace string) Namespace { return Namespace{s, namespace} }

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

func (r *request) claim() claim { return claim{r.namespace, r.urgent, r.bytes, r.after()} }

// after returns its place, which is behind all others if it has none.
func (r *request) after() uint64 {
	if r.place == 0 {
		return math.MaxUint64
	}
	return r.place
}

func (r *request) lane() lane { return lane{r.namespace, r.urgent} }

// Reserve waits until the spool has room for that many bytes. The error is ErrTooSmall if waiting does not help.
func (n Namespace) Reserve(ctx context.Context, bytes int64) (*Share, error) {
	return n.spool.wait(ctx, &request{namespace: n.name, bytes: bytes, ready: make(chan error, 1)})
}

// ReserveUrgent is Reserve for a job that comes before all others that wait. It may use the part that they leave free.
func (n Namespace) ReserveUrgent(ctx context.Context, bytes int64) (*Share, error) {
	return n.spool.wait(ctx, &request{namespace: n.name, bytes: bytes, urgent: true, ready: make(chan error, 1)})
}

// Hold waits like Reserve, for a job that does not end by itself. The space is missing in the limit until release is called, so a
// larger job fails at once instead of waiting for this one.
func (n Namespace) Hold(ctx context.Context, bytes int64) (release func(), err error) {
	share, err := n.spool.wait(ctx, &request{namespace: n.name, bytes: bytes, holds: true, ready: make(chan error, 1)})
	if err != nil {
		return nil, err
	}
	n.spool.lend(share)
	return func() { n.spool.takeBack(bytes) }, nil
}

// Extra returns an empty share for a job that has Hold, for what it needs beside that. The caller changes it with Resize.
func (n Namespace) Extra() *Share { return &Share{spool: n.spool, namespace: n.name} }

// Why returns why the first waiting job of the namespace waits.
func (n Namespace) Why() turns.Reason {
	n.spool.mu.Lock()
	defer n.spool.mu.Unlock()
	for _, r := range n.spool.queue {
		if r.namespace == n.name {
			return r.why
		}
	}
	if n.spool.returning[n.name] > 0 {
		return turns.Worker
	}
	return turns.None
}

// Crowds returns whether the namespace holds more than several of its jobs may, while jobs of others wait for space. If an urgent one waits, that is
// more than the namespace may hold of the part for urgent ones.
func (n Namespace) Crowds() bool {
	s := n.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.held.Held(n.name)
	return s.total > 0 && slices.ContainsFunc(s.queue, func(r *request) bool {
		most := s.total / fairShare
		if r.urgent {
			most = min(most, s.urgent/2)
		}
		return r.namespace != n.name && r.why != turns.OwnShare && held > most
	})
}

func (s *Spool) wait(ctx context.Context, r *request) (*Share, error) {
	s.mu.Lock()
	s.queue = append(s.queue, r)
	s.admit()
	s.mu.Unlock()
	err := s.answer(ctx, r)
	if err != nil {
		return nil, err
	}
	return r.share, nil
}

// answer waits for the answer to a request. The job leaves its worker while it waits. An urgent one does not wait for a worker afterwards.
func (s *Spool) answer(ctx context.Context, r *request) error {
	select {
	case err := <-r.ready:
		return err
	default:
	}
	leave := turns.LeaveForMany
	if r.urgent {
		leave = turns.Leave
	}
	back := leave(ctx)
	defer func() {
		s.returns(r.namespace, 1)
		back()
		s.returns(r.namespace, -1)
	}()
	select {
	case err := <-r.ready:
		if r.place > 0 {
			turns.Waited(ctx, time.Since(r.since))
		}
		return err
	case <-ctx.Done():
		return s.leave(r, context.Cause(ctx))
	}
}

// returns counts a job that has its answer, and waits for a worker.
func (s *Spool) returns(namespace string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.returning[namespace] += n; s.returning[namespace] == 0 {
		delete(s.returning, namespace)
	}
}

// leave removes a request whose context has ended. If it was admitted before that, leave returns its space.
func (s *Spool) leave(r *request, cause error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dequeue(r) && <-r.ready == nil {
		s.remove(r.share)
	}
	s.admit()
	return cause
}

func (s *Spool) dequeue(r *request) (found bool) {
	before := len(s.queue)
	s.queue = slices.DeleteFunc(s.queue, func(waiting *request) bool { return waiting == r })
	return len(s.queue) < before
}

// admit answers the requests that need not wait, one after the other, because each changes what is left for the others.
func (s *Spool) admit() {
	for {
		next, err := s.next()
		if next == nil {
			return
		}
		if err == nil {
			s.count++
			s.overtakeApart() // before next leaves the queue, because an urgent job may yield to it
			s.overtake(next.claim())
			next.share = &Share{spool: s, namespace: next.namespace, urgent: next.urgent, bytes: next.bytes, admitted: s.count, place: min(next.after(), s.count), since: time.Now(), again: next.urgent && s.hadUrgent(next.namespace)}
			s.add(next.share)
		}
		s.dequeue(next)
		next.ready <- err
	}
}

// next returns the request that is answered next, and nil if all have to wait.
func (s *Spool) next() (next *request, err error) {
	waits := map[lane]bool{} // for their own namespace
	placed := s.placed()
	for _, r := range s.queue {
		r.why, err = s.judge(r)
		if err != nil {
			return r, err
		}
		if r.why == turns.OwnShare {
			waits[r.lane()] = true
		} else if waits[r.lane()] && !r.holds { // it would delay the one before it again and again
			r.why = turns.OwnShare
		}
		if r.why != turns.OwnShare && r.place == 0 && !placed[r.lane()] {
			s.count++
			r.place, r.since, placed[r.lane()] = s.count, time.Now(), true
		}
	}
	for _, r := range s.queue {
		if r.why == turns.None && (s.delays(r.claim()) || s.delaysOwn(r)) {
			r.why = turns.Earlier
		}
		if r.why == turns.None && (next == nil || s.order(r, next) < 0) {
			next = r
		}
	}
	return next, nil
}

// lane are the requests of a namespace that are admitted in the order in which they came.
type lane struct {
	namespace string
	urgent    bool
}

// placed returns the lanes that have a place.
func (s *Spool) placed() map[lane]bool {
	placed := map[lane]bool{}
	for _, r := range s.queue {
		if r.place > 0 {
			placed[r.lane()] = true
		}
	}
	return placed
}

// judge returns why the request has to wait, apart from other requests. An error means that waiting does not help.
func (s *Spool) judge(r *request) (turns.Reason, error) {
	err := s.fits(s.most(r.urgent), r.bytes, 0)
	full := errors.Is(err, ErrFull)
	if err != nil && !full {
		return turns.None, err
	}
	switch {
	case !r.holds && s.overShare(r.namespace, r.urgent, r.bytes):
		return turns.OwnShare, nil
	case full || !s.leaves(r.namespace, r.urgent, r.bytes):
		return turns.AllInUse, nil
	}
	return turns.None, nil
}

// open returns how much of the spool may be used once a job of a namespace has that many more bytes. The rest is for urgent jobs, and half of it for
// urgent jobs of other namespaces. The first small jobs of a namespace may use more, because a large job must not take all space from others.
func (s *Spool) open(namespace string, urgent bool, bytes int64) int64 {
	small, half := s.total-s.single, s.urgent/2
	switch {
	case urgent && s.urgently.Held(namespace)+bytes <= half:
		return s.total
	case urgent:
		return s.single - half
	case s.held.Held(namespace)+bytes <= small:
		return s.total - half
	}
	return s.total - s.urgent
}

// openTo is open for a request.
func (s *Spool) openTo(r *request) int64 { return s.open(r.namespace, r.urgent, r.bytes) }

// leaves returns whether a job of a namespace with that many more bytes leaves the others what is theirs. What urgent jobs hold of their part counts
// for no other job. What small urgent jobs hold does not count for a large urgent one, so that those which overtake it do not delay it.
func (s *Spool) leaves(namespace string, urgent bool, bytes int64) bool {
	open := s.open(namespace, urgent, bytes)
	if urgent {
		open = min(open+s.smallUrgents(namespace), s.total)
	} else {
		open = min(open+s.urgents, s.total-s.urgent/2)
	}
	return s.total == 0 || s.used+bytes <= open
}

func (s *Spool) order(a, b *request) int {
	if a.urgent != b.urgent {
		if a.urgent {
			return -1
		}
		return 1
	}
	return cmp.Or(s.held.Compare(a.namespace, b.namespace), cmp.Compare(a.after(), b.after()))
}
