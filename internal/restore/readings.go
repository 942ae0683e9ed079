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
	waiting  map[worker.Key]func() string
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

// wait records that a reading waits, until done is called. text returns for what, and why.
func (p *readings) wait(key worker.Key, text func() string) (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting = map[worker.Key]func() string{}
	}
	p.waiting[key] = text
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, key)
	}
}

// waits returns for what a reading waits, and why.
func (p *readings) waits(key worker.Key) string {
	p.mu.Lock()
	text := p.waiting[key]
	p.mu.Unlock()
	if text == nil {
		return ""
	}
	return text()
}

func (p *readings) forget(key worker.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.percents, key)
}
