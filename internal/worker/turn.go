package worker

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// turnEvery is how often the pool asks whether the turn of a job is over, after its patience.
const turnEvery = 5 * time.Second

// endForOthers ends one job for each namespace that waits only because all slots are in use, and as many run without one as may.
func (s *scheduler) endForOthers() {
	ending, seen := map[string]int{}, map[[2]string]bool{}
	for j := range s.active {
		if j.ends {
			ending[j.claim.Lane]++
		}
	}
	for _, w := range s.waiting {
		lane := w.claim.Lane
		if s.slots.beyond[lane] < s.slots.limit(lane) || s.busy[w.key] || seen[[2]string{w.claim.Lane, w.key.Object.Namespace}] || s.slots.why(w) != turns.AllInUse {
			continue
		}
		if seen[[2]string{w.claim.Lane, w.key.Object.Namespace}] = true; ending[lane] > 0 { // it gets the slot of one that ends already
			ending[lane]--
			continue
		}
		if j := s.overTurn(w); j != nil {
			j.ends = true
			j.cancel(fmt.Errorf("%w, and this held a worker for longer than it may while they wait", turns.ErrOthersWaited))
		}
	}
}

// overTurn returns the job that ends for w, and nil if there is none: of those whose turn is over, one of the namespace that has most of them, and of these the
// one that has run for longest. It extends as many of them as may be.
func (s *scheduler) overTurn(w *ticket) (found *ticket) {
	over := map[*ticket]bool{}
	for j := range s.active {
		may := !j.ends && j.queues.in == 0 && j.claim.Turn != nil && j.claim.Lane == w.claim.Lane && j.key.Object.Namespace != w.key.Object.Namespace
		if may && j.ran() >= j.claim.Turn.Once() {
			over[j] = !j.longer || j.ran() >= j.claim.Turn.Most()
		}
	}
	for next := s.toExtend(over); next != nil; next = s.toExtend(over) {
		next.longer, over[next] = true, false
		next.claim.Turn.Extend()
	}
	for j, ends := range over {
		if ends && (found == nil || s.slots.runs(j) > s.slots.runs(found) || s.slots.runs(j) == s.slots.runs(found) && j.since.Before(found.since)) {
			found = j
		}
	}
	return found
}

// toExtend returns the job among those whose turn is over that is extended next, and nil if there is none.
func (s *scheduler) toExtend(over map[*ticket]bool) (next *ticket) {
	for j, ends := range over {
		if !ends || j.longer || j.claim.Turn.Ended() == 0 || !s.mayExtend(j) {
			continue
		}
		if next == nil || j.claim.Turn.Ended() > next.claim.Turn.Ended() || j.claim.Turn.Ended() == next.claim.Turn.Ended() && j.since.Before(next.since) {
			next = j
		}
	}
	return next
}

// mayExtend returns whether another job may be extended. Half of all jobs that run are not, so that their places are free within minutes.
func (s *scheduler) mayExtend(j *ticket) bool {
	extended := 0
	for other := range s.active {
		if !other.longer || other.claim.Lane != j.claim.Lane {
			continue
		}
		if extended++; other.key.Object.Namespace == j.key.Object.Namespace {
			return false
		}
	}
	return extended < s.slots.limit(j.claim.Lane)
}
