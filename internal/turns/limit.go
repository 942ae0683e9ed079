package turns

import (
	"errors"
	"sync"
	"time"
)

// ErrOthersWaited is why a Gate ends work that takes too long. It is no result of the work: the caller tries again later.
var ErrOthersWaited = errors.New("other namespaces waited for their turn")

const (
	// timeBase and timeRate limit work while other namespaces wait: a minute, and the time for its bytes at 4 MiB a second. A usual disk and
	// processor check 100 MiB a second.
	timeBase = time.Minute
	timeRate = 4 << 20
	// timeMost limits the time of an attempt before it is doubled. Work that gets more bytes while it runs gets no more time than this. With
	// all doublings, honest work has four hours.
	timeMost = 30 * time.Minute
	// doublings is how often the time of a namespace is doubled after its work was ended, so that honest work on a slow node succeeds later.
	doublings = 3
	// endsKept is for how long a gate remembers that it has ended work.
	endsKept = 24 * time.Hour
)

type ends struct {
	count int
	bytes int64 // of the largest of them
	last  time.Time
	by    map[string]int // how many of them ended for an urgent caller of each namespace
}

func (e ends) factor() time.Duration { return 1 << min(e.count, doublings) }

// Allowance is for how long work may hold its slot while others wait.
type Allowance struct {
	urgent bool
	factor time.Duration // by how much its time is longer, because earlier attempts were ended
	before ends
	began  time.Time

	mu    sync.Mutex
	bytes int64
	by    string
}

// endFor records for the urgent caller of which namespace the work ends.
func (a *Allowance) endFor(namespace string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.by = namespace
}

func (a *Allowance) endedFor() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.by
}

// Add records more bytes that were worked on, and so allows more time.
func (a *Allowance) Add(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bytes += bytes
}

// reach records that so many bytes were worked on, if they are more than before.
func (a *Allowance) reach(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bytes = max(a.bytes, bytes)
}

func (a *Allowance) size() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bytes
}

func (a *Allowance) most() time.Duration { return a.factor * a.once() }

// once returns the time of an attempt before it is doubled.
func (a *Allowance) once() time.Duration {
	return min(timeBase+time.Duration(a.size()/timeRate)*time.Second, timeMost)
}

// left returns how much of that time is left.
func (a *Allowance) left() time.Duration { return a.most() - time.Since(a.began) }
