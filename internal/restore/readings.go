package restore

import (
	"sync"

	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// coarse rounds percentages, so that one reading changes the status at most 20 times.
const coarse = 5

// readings holds the progress of the readings that run.
type readings struct {
	mu       sync.Mutex
	percents map[worker.Key]int32
}

func (p *readings) set(key worker.Key, bytes, of int64) {
	if of <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.percents == nil {
		p.percents = map[worker.Key]int32{}
	}
	p.percents[key] = int32(min(100, 100*bytes/of)) / coarse * coarse
}

func (p *readings) percent(key worker.Key) int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.percents[key]
}

func (p *readings) forget(key worker.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.percents, key)
}
