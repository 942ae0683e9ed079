package worker

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// scheduler chooses which job starts next, which one leaves its slot to others, and which one ends for them. Its caller holds the lock of the pool.
type scheduler struct {
	slots     slots
	waiting   []*ticket
	returning []*ticket        // jobs that wait for a slot again
	active    map[*ticket]bool // jobs that have begun and not returned
	busy      map[Key]bool     // keys whose job has not returned yet, also a forgotten one
}

func newScheduler(limits map[string]int) scheduler {
	return scheduler{slots: newSlots(limits), active: map[*ticket]bool{}, busy: map[Key]bool{}}
}

// begin counts a job that starts.
func (s *scheduler) begin(j *ticket) {
	s.slots.count(j, 1)
	s.busy[j.key], s.active[j], j.began = true, true, true
}

// move puts a job that runs into another lane.
func (s *scheduler) move(j *ticket, lane string) {
	away := j.away
	s.slots.out(j)
	if away {
		s.letRun(j)
	}
	if j.timer != nil {
		j.timer.Stop()
	}
	s.slots.move(j, lane)
}

// end removes a job that has returned.
func (s *scheduler) end(j *ticket) {
	j.over = true
	delete(s.active, j)
	if j.timer != nil {
		j.timer.Stop()
	}
	s.slots.out(j)
	s.slots.forgetMove(j)
	delete(s.busy, j.key)
}

// comeBack puts a job back into its lane.
func (s *scheduler) comeBack(j *ticket) {
	s.returning = slices.DeleteFunc(s.returning, func(waiting *ticket) bool { return waiting == j })
	if !j.away {
		return
	}
	s.slots.stay(j)
	s.slots.count(j, 1)
}

// takeBack puts jobs back that wait for a slot of their lane. They come before the jobs that have not begun, because they hold what they waited for.
func (s *scheduler) takeBack() {
	for {
		i := slices.IndexFunc(s.returning, func(j *ticket) bool { return s.slots.why(j) == turns.None })
		if i < 0 {
			return
		}
		j := s.returning[i]
		s.comeBack(j)
		close(j.back)
	}
}

// letRun lets a job run that waited for a slot of a lane which it has left.
func (s *scheduler) letRun(j *ticket) {
	if slices.Contains(s.returning, j) {
		s.returning = slices.DeleteFunc(s.returning, func(waiting *ticket) bool { return waiting == j })
		close(j.back)
	}
}
