package spool

import (
	"cmp"
	"context"
	"errors"
	"slices"

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
	// place is its number among those that wait for other namespaces. It is 0 before it waits for them first.
	place uint64
	why   turns.Reason
}

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
	return turns.None
}

// Crowds returns whether the namespace holds more than several of its jobs may, while jobs of others wait for space.
func (n Namespace) Crowds() bool {
	s := n.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total == 0 || s.held.Held(n.name) <= s.total/fairShare {
		return false
	}
	return slices.ContainsFunc(s.queue, func(r *request) bool { return r.namespace != n.name && r.why != turns.OwnShare })
}

func (s *Spool) wait(ctx context.Context, r *request) (*Share, error) {
	s.mu.Lock()
	s.queue = append(s.queue, r)
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
	return r.share, nil
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
		s.dequeue(next)
		if err == nil {
			s.count++
			next.share = &Share{spool: s, namespace: next.namespace, urgent: next.urgent, bytes: next.bytes, admitted: s.count}
			s.add(next.share)
		}
		next.ready <- err
	}
}

// next returns the request that is answered next, and nil if all have to wait.
func (s *Spool) next() (next *request, err error) {
	waits := map[lane]bool{} // for their own namespace
	for _, r := range s.queue {
		r.why, err = s.judge(r)
		if err != nil {
			return r, err
		}
		if in := (lane{r.namespace, r.urgent}); r.why == turns.OwnShare {
			waits[in] = true
		} else if waits[in] && !r.holds { // it would delay the one before it again and again
			r.why = turns.OwnShare
		}
		if r.why != turns.OwnShare && r.place == 0 {
			s.count++
			r.place = s.count
		}
	}
	for _, r := range s.queue {
		if r.why == turns.None && s.overtakes(r) {
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

// judge returns why the request has to wait, apart from other requests. An error means that waiting does not help.
func (s *Spool) judge(r *request) (turns.Reason, error) {
	err := s.fits(r.bytes, 0)
	full := errors.Is(err, ErrFull)
	if err != nil && !full {
		return turns.None, err
	}
	switch {
	case !r.holds && s.overShare(r.namespace, r.urgent, r.bytes):
		return turns.OwnShare, nil
	case full || s.total > 0 && s.used+r.bytes > s.open(r):
		return turns.AllInUse, nil
	}
	return turns.None, nil
}

// open returns how much of the spool may be used if the request is admitted. The rest is for urgent ones. A job that needs more than
// others leave may use that, too. So may the first small jobs of a namespace, because a large job cannot take all space then.
func (s *Spool) open(r *request) int64 {
	rest, small := s.total-s.urgent, s.total-s.single
	if r.urgent || r.bytes > rest-small || s.held.Held(r.namespace)+r.bytes <= small {
		return s.total
	}
	return rest
}

// overtakes returns whether the request would delay one that has waited longer: all that overtake it must fit beside it.
func (s *Spool) overtakes(r *request) bool {
	for _, other := range s.queue {
		first := other.urgent && !r.urgent || other.urgent == r.urgent && other.place < r.place
		if other == r || other.place == 0 || other.why == turns.OwnShare || !first {
			continue
		}
		if s.total > 0 && s.passed(other)+r.bytes > s.open(other)-other.bytes {
			return true
		}
	}
	return false
}

// passed returns how many bytes the jobs hold that have overtaken a request.
func (s *Spool) passed(r *request) (bytes int64) {
	for share := range s.running {
		if share.admitted > r.place {
			bytes += share.bytes
		}
	}
	return bytes
}

func (s *Spool) order(a, b *request) int {
	if a.urgent != b.urgent {
		if a.urgent {
			return -1
		}
		return 1
	}
	return cmp.Or(s.held.Compare(a.namespace, b.namespace), cmp.Compare(a.place, b.place))
}
