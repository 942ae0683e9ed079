package copying

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// Copies holds the copiers of this process. Each copies one archive to its second location, in a goroutine of its own beside the archivers. So a second
// location that is slow or dead delays no archiver.
type Copies struct {
	run func(context.Context, *Copier)

	mu     sync.Mutex
	closed bool
	known  map[worker.Key]*Copier
	busy   map[worker.Key]int // copiers that have not returned yet, also stopped ones
	group  sync.WaitGroup
	notify func(worker.Key)
}

// New returns copies without any copier. run keeps one copier running until its context ends; if it is nil, none runs.
func New(run func(context.Context, *Copier)) *Copies {
	return &Copies{run: run, known: map[worker.Key]*Copier{}, busy: map[worker.Key]int{}, notify: func(worker.Key) {}}
}

// NotifyBy makes the copiers tell the controller of changes.
func (p *Copies) NotifyBy(notify func(worker.Key)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notify = notify
}

// Set starts the copier of key, changes its spec, or stops it if spec is nil.
func (p *Copies) Set(key worker.Key, spec *Spec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	running := p.known[key]
	if running != nil && (spec == nil || !running.accepts(*spec)) {
		running.cancel()
		delete(p.known, key)
		running = nil
	}
	if spec == nil || running != nil || p.closed || p.run == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &Copier{key: key, cancel: cancel, spec: *spec, news: make(chan struct{}, 1)}
	c.notify = func() { p.tell(key) }
	p.known[key] = c
	p.busy[key]++
	p.group.Go(func() {
		defer p.returned(key)
		defer cancel()
		p.run(ctx, c)
	})
}

func (p *Copies) returned(key worker.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy[key]--; p.busy[key] == 0 {
		delete(p.busy, key)
	}
	p.notify(key)
}

func (p *Copies) tell(key worker.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notify(key)
}

// Find returns what the copier of key reports, and nil if none runs. busy is true until a stopped one has returned, too.
func (p *Copies) Find(key worker.Key) (view *state.ArchiveCopy, busy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.known[key]; c != nil {
		view = c.look()
	}
	return view, p.busy[key] > 0
}

// Offer tells the copier of key what its archiver has stored. It never waits for the copier.
func (p *Copies) Offer(key worker.Key, status archiver.Status) {
	if p == nil {
		return
	}
	p.mu.Lock()
	c := p.known[key]
	p.mu.Unlock()
	if c != nil {
		c.offer(status)
	}
}

// ForgetOthers stops the copiers of other objects of that name: all of them if except is empty.
func (p *Copies) ForgetOthers(object types.NamespacedName, except types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, c := range p.known {
		if key.Object == object && key.UID != except {
			c.cancel()
			delete(p.known, key)
		}
	}
}

// Stop stops all copiers and waits for them.
func (p *Copies) Stop() {
	p.mu.Lock()
	p.closed = true
	for _, c := range p.known {
		c.cancel()
	}
	p.mu.Unlock()
	p.group.Wait()
}
