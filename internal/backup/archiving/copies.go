package archiving

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// copies holds the copiers of this process. Each copies one archive to its second location, in a goroutine of its own beside the archivers. So a second
// location that is slow or dead delays no archiver.
type copies struct {
	run func(context.Context, *Copier)

	mu     sync.Mutex
	closed bool
	known  map[worker.Key]*Copier
	busy   map[worker.Key]int // copiers that have not returned yet, also stopped ones
	group  sync.WaitGroup
	notify func(worker.Key)
}

func newCopies(run func(context.Context, *Copier)) *copies {
	return &copies{run: run, known: map[worker.Key]*Copier{}, busy: map[worker.Key]int{}, notify: func(worker.Key) {}}
}

// notifyBy makes the copiers tell the controller of changes.
func (p *copies) notifyBy(notify func(worker.Key)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notify = notify
}

// set starts the copier of key, changes its spec, or stops it if spec is nil.
func (p *copies) set(key worker.Key, spec *CopySpec) {
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

func (p *copies) returned(key worker.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy[key]--; p.busy[key] == 0 {
		delete(p.busy, key)
	}
	p.notify(key)
}

func (p *copies) tell(key worker.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notify(key)
}

// find returns what the copier of key reports, and nil if none runs. busy is true until a stopped one has returned, too.
func (p *copies) find(key worker.Key) (view *state.ArchiveCopy, busy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.known[key]; c != nil {
		view = c.look()
	}
	return view, p.busy[key] > 0
}

// offer tells the copier of key what its archiver has stored. It never waits for the copier.
func (p *copies) offer(key worker.Key, status archiver.Status) {
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

// forgetOthers stops the copiers of other objects of that name: all of them if except is empty.
func (p *copies) forgetOthers(object types.NamespacedName, except types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, c := range p.known {
		if key.Object == object && key.UID != except {
			c.cancel()
			delete(p.known, key)
		}
	}
}

// stop stops all copiers and waits for them.
func (p *copies) stop() {
	p.mu.Lock()
	p.closed = true
	for _, c := range p.known {
		c.cancel()
	}
	p.mu.Unlock()
	p.group.Wait()
}

const (

	// archiveOthers is the part of the places that one namespace leaves to others. An archiver holds its place for months, so a namespace
	// that asks later would wait as long. It is a part of what the others do not use, so that each further namespace finds a place.
	archiveOthers = 8
)

// archivePlaces counts the archivers that have space in the spool.
type archivePlaces struct {
	mu    sync.Mutex
	order turns.Order
	taken int64
}

// take takes one of so many places, or returns why there is none.
func (p *archivePlaces) take(namespace string, places int64) turns.Reason {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.order.Held(namespace)
	free := places - (p.taken - own) // of other namespaces
	switch {
	case p.taken >= places:
		return turns.AllInUse
	case own >= max(free-(free+archiveOthers-1)/archiveOthers, 1):
		return turns.OwnShare
	}
	p.taken++
	p.order.Take(namespace, 1)
	return turns.None
}

func (p *archivePlaces) leave(namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	p.order.Return(namespace, 1)
}

func (p *archivePlaces) count() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// changesMemory is what the large changes of all archives of this process take in memory. A change is in it until it is on the disk.
const changesMemory = 224 << 20

// changeWait is how long an archiver waits for it. An archiver that receives nothing for longer takes its member for one that is behind.
const changeWait = 20 * time.Second

// largeChanges is one for the process, because the process has one memory.
var largeChanges = turns.NewBudget(changesMemory)

// admitChange returns what admits the large changes of the archives of a namespace.
func admitChange(budget *turns.Budget, namespace string, wait time.Duration) func(context.Context, int64) (func(), error) {
	return func(ctx context.Context, bytes int64) (func(), error) {
		limited, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		release, err := budget.Wait(limited, namespace, bytes)
		if err == nil || ctx.Err() != nil {
			return release, err
		}
		why := budget.Why(namespace, bytes)
		if why == turns.None {
			why = turns.AllInUse
		}
		return nil, failure.New(v1beta2.ReasonRetrying, fmt.Sprintf("The archiver has stopped at a change that takes %d MiB of memory. All archives of backup-operator have %d MiB for large changes, of which one namespace may use %d MiB. "+
			"The change has waited for %s: %s. The archiver starts again.", bytes>>20, changesMemory>>20, budget.Most()>>20, wait, why))
	}
}
