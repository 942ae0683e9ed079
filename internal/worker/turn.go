package worker

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// turnEvery is how often the pool asks whether the turn of a job is over, after its patience.
const turnEvery = 5 * time.Second

// endForOthers ends one job for each namespace that waits only because all slots are in use, and as many run without one as may. It needs p.mu.
func (p *Pool[T]) endForOthers() {
	ending, seen := map[string]int{}, map[[2]string]bool{}
	for j := range p.active {
		if j.ends {
			ending[j.claim.Lane]++
		}
	}
	for _, w := range p.waiting {
		lane := w.claim.Lane
		if p.beyond[lane] < max(p.lanes[lane], 1) || p.busy[w.key] || seen[[2]string{w.claim.Lane, w.key.Object.Namespace}] || p.why(w) != turns.AllInUse {
			continue
		}
		if seen[[2]string{w.claim.Lane, w.key.Object.Namespace}] = true; ending[lane] > 0 { // it gets the slot of one that ends already
			ending[lane]--
			continue
		}
		if j := p.overTurn(w); j != nil {
			j.ends = true
			j.cancel(fmt.Errorf("%w, and this held a worker for longer than it may while they wait", turns.ErrOthersWaited))
		}
	}
}

// overTurn returns the job that ends for w, and nil if there is none: of those whose turn is over, one of the namespace that has most of them, and of these the
// one that has run for longest. It extends as many of them as may be.
func (p *Pool[T]) overTurn(w *job[T]) (found *job[T]) {
	over := map[*job[T]]bool{}
	for j := range p.active {
		may := !j.ends && j.queues.in == 0 && j.claim.Turn != nil && j.claim.Lane == w.claim.Lane && j.key.Object.Namespace != w.key.Object.Namespace
		if may && j.ran() >= j.claim.Turn.Once() {
			over[j] = !j.longer || j.ran() >= j.claim.Turn.Most()
		}
	}
	for next := p.toExtend(over); next != nil; next = p.toExtend(over) {
		next.longer, over[next] = true, false
		next.claim.Turn.Extend()
	}
	for j, ends := range over {
		if ends && (found == nil || p.runs(j) > p.runs(found) || p.runs(j) == p.runs(found) && j.since.Before(found.since)) {
			found = j
		}
	}
	return found
}

// toExtend returns the job among those whose turn is over that is extended next, and nil if there is none.
func (p *Pool[T]) toExtend(over map[*job[T]]bool) (next *job[T]) {
	for j, ends := range over {
		if !ends || j.longer || j.claim.Turn.Ended() == 0 || !p.mayExtend(j) {
			continue
		}
		if next == nil || j.claim.Turn.Ended() > next.claim.Turn.Ended() || j.claim.Turn.Ended() == next.claim.Turn.Ended() && j.since.Before(next.since) {
			next = j
		}
	}
	return next
}

// mayExtend returns whether another job may be extended. Half of all jobs that run are not, so that their places are free within minutes.
func (p *Pool[T]) mayExtend(j *job[T]) bool {
	extended := 0
	for other := range p.active {
		if !other.longer || other.claim.Lane != j.claim.Lane {
			continue
		}
		if extended++; other.key.Object.Namespace == j.key.Object.Namespace {
			return false
		}
	}
	return extended < max(p.lanes[j.claim.Lane], 1)
}

// ran returns for how long a job has run, without the time in which it waited elsewhere.
func (j *job[T]) ran() time.Duration { return time.Since(j.since) - j.queues.sum }

// runs returns how many jobs the namespace of a job has in its lane, with those that run without a slot.
func (p *Pool[T]) runs(j *job[T]) int {
	return int(p.orderOf(j).Held(j.key.Object.Namespace)) + p.away[ofNamespace(j)]
}
