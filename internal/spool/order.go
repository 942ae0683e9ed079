package spool

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// isOvertakenBy returns whether a job that comes after the request was admitted while that waited for others. Then the request fits beside the job.
func (r *request) isOvertakenBy(share *Share) bool {
	after := share.place > r.place || r.urgent && !share.urgent
	return after && share.admitted > max(r.place, r.apart)
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

// returns counts a job that has its answer, and waits for a worker.
func returns(s *Spool, namespace string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.returning[namespace] += n; s.returning[namespace] == 0 {
		delete(s.returning, namespace)
	}
}

func dequeue(s *Spool, r *request) (found bool) {
	before := len(s.queue)
	s.queue = slices.DeleteFunc(s.queue, func(waiting *request) bool { return waiting == r })
	return len(s.queue) < before
}

// placed returns the lanes that have a place.
func placed(s *Spool) map[lane]bool {
	placed := map[lane]bool{}
	for _, r := range s.queue {
		if r.place > 0 {
			placed[r.lane()] = true
		}
	}
	return placed
}

// judge returns why the request has to wait, apart from other requests. An error means that waiting does not help.
func judge(s *Spool, r *request) (turns.Reason, error) {
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

func compareTurns(s *Spool, a, b *request) int {
	if a.urgent != b.urgent {
		if a.urgent {
			return -1
		}
		return 1
	}
	return cmp.Or(s.held.Compare(a.namespace, b.namespace), cmp.Compare(a.after(), b.after()))
}
