package worker

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// start returns the job that starts now, and nil if none does. Then it ends those that hold what others wait for.
func (s *scheduler) start() *ticket {
	next := s.next()
	for next == nil && s.makeRoom() {
		next = s.next()
	}
	if next == nil {
		s.endForOthers()
		return nil
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(j *ticket) bool { return j == next })
	return next
}

// next returns the waiting job that starts next, and nil if there is no slot for any. Lanes do not compete, so it is of the first lane that
// has a slot.
func (s *scheduler) next() (next *ticket) {
	for _, j := range s.waiting {
		if (next == nil || s.before(j, next)) && s.free(j) {
			next = j
		}
	}
	return next
}

// before returns whether it is the turn of job a before that of job b of the same lane.
func (s *scheduler) before(a, b *ticket) bool {
	return a.claim.Lane == b.claim.Lane && s.slots.orderOf(a).Compare(a.key.Object.Namespace, b.key.Object.Namespace) < 0
}

func (s *scheduler) free(j *ticket) bool { return !s.busy[j.key] && s.slots.why(j) == turns.None }
