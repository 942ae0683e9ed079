package programs

import (
	"fmt"
	"time"
)

// An estimate tells how long the builds that are left may take. It scales the known times by how fast this machine was
// so far.
type estimate struct {
	begin       time.Time
	done, ahead time.Duration // known times of the finished modules, and of those that are not finished
}

func newEstimate(missing []Module) *estimate {
	e := &estimate{begin: time.Now()}
	for _, m := range missing {
		e.ahead += m.Cold
	}
	return e
}

func (e *estimate) finished(m Module) {
	e.done += m.Cold
	e.ahead -= m.Cold
}

// left describes the time until all modules are built, while m has been building for so long.
func (e *estimate) left(m Module, so time.Duration) string {
	return remaining(e.done, time.Since(e.begin)-so, e.ahead-m.Cold, m.Cold, so)
}

// remaining scales the known times by spent/done: what the finished modules took here, and what they were known to take.
// Without a finished module it takes the known times as they are. A module that takes longer than known is nearly done.
func remaining(done, spent, others, current, so time.Duration) string {
	pace := 1.0
	if done > 0 {
		pace = float64(spent) / float64(done)
	}
	left := time.Duration(pace*float64(others)) + max(time.Duration(pace*float64(current))-so, 0)
	if left < time.Minute {
		return "less than a minute left"
	}
	return fmt.Sprintf("about %s left", count(int((left+30*time.Second)/time.Minute), "minute"))
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
