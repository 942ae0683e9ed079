package restore

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

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

// begun lets a reading begin only when the status has recorded that it begins. If the snapshot ends this process, the next one finds the
// attempt in the status, and pauses before the next attempt. Only the worker waits, and no pass.
type begun struct {
	mu       sync.Mutex
	expected map[worker.Key]chan struct{}
}

// expect returns a channel that is closed when the beginning is recorded.
func (b *begun) expect(key worker.Key) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.expected == nil {
		b.expected = map[worker.Key]chan struct{}{}
	}
	c := make(chan struct{})
	b.expected[key] = c
	return c
}

// recorded lets the reading begin, if it waits for that.
func (b *begun) recorded(key worker.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, found := b.expected[key]; found {
		close(c)
		delete(b.expected, key)
	}
}

// forgetOthers drops what is expected for forgotten readings of other objects of that name: all of them if except is empty.
func (b *begun) forgetOthers(object types.NamespacedName, except types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.expected, func(k worker.Key, _ chan struct{}) bool { return k.Object == object && k.UID != except })
}
