// Package archiving runs the archivers of the continuous archives.
package archiving

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/copying"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// Archives holds the archivers of this process. Each runs in goroutines of its own, beside all passes and attempts.
type Archives struct {
	run     func(context.Context, *Archiver)
	metrics *Metrics

	mu     sync.Mutex
	closed bool
	known  map[worker.Key]*Archiver
	busy   map[worker.Key]int            // archivers that have not returned yet, also stopped ones
	ended  map[worker.Key]*state.Archive // the last views of stopped archivers
	// drained are stopped archivers of clusters that are recovered from a lost quorum. They store what they still have.
	drained map[worker.Key][]*Archiver
	group   sync.WaitGroup
	notify  func(worker.Key)
	// copies has what copies the archives to their second locations.
	copies *copying.Copies
}

// New returns archives without any archiver. run keeps one archiver running until its context ends.
func New(run func(context.Context, *Archiver), m *Metrics) *Archives {
	return &Archives{run: run, metrics: m, known: map[worker.Key]*Archiver{}, busy: map[worker.Key]int{}, ended: map[worker.Key]*state.Archive{}, drained: map[worker.Key][]*Archiver{}, notify: func(worker.Key) {}, copies: copying.New(nil)}
}

// SetCopy starts the copier of key, changes its spec, or stops it if spec is nil.
func (p *Archives) SetCopy(key worker.Key, spec *copying.Spec) { p.copies.Set(key, spec) }

// FindCopy returns what the copier of key reports, and nil if none runs. busy is true until a stopped one has returned, too.
func (p *Archives) FindCopy(key worker.Key) (view *state.ArchiveCopy, busy bool) {
	return p.copies.Find(key)
}

// Set starts the archiver of key, changes its spec, or stops it if spec is nil.
func (p *Archives) Set(key worker.Key, spec *Spec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.drained[key] {
		if spec == nil || !a.storesAs(*spec) {
			a.hurry()
		}
	}
	running := p.known[key]
	switch {
	case running == nil:
	case spec == nil:
		p.stop(running, nil)
	case running.current().recovery != spec.recovery:
		p.stop(running, archiver.ErrRecovery)
	case !running.accepts(*spec):
		p.stop(running, nil)
	}
	running = p.known[key]
	if spec == nil || running != nil || p.closed {
		return
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	hurried, hurry := context.WithCancel(context.Background())
	a := &Archiver{key: key, cancel: cancel, hurry: hurry, hurried: hurried.Done(), spec: *spec, news: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
	a.notify = func() { p.tell(key) }
	p.known[key] = a
	delete(p.ended, key)
	p.busy[key]++
	p.group.Go(func() {
		defer p.returned(a)
		defer cancel(nil)
		defer hurry()
		p.run(ctx, a)
	})
}

// Drain stops the archiver of key, because its cluster is being recovered from a lost quorum. The archiver stores what it still has, however
// long the store is down, because it may have the only copy.
func (p *Archives) Drain(key worker.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if running := p.known[key]; running != nil {
		p.stop(running, archiver.ErrRecovery)
	}
}

// stop needs p.mu.
func (p *Archives) stop(a *Archiver, cause error) {
	a.stopped = true
	delete(p.known, a.key)
	if errors.Is(cause, archiver.ErrRecovery) {
		p.drained[a.key] = append(p.drained[a.key], a)
	}
	a.cancel(cause)
}

// returned keeps the last view of a stopped archiver: it has stored its last segment after it was stopped.
func (p *Archives) returned(a *Archiver) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := a.key
	if p.drained[key] = slices.DeleteFunc(p.drained[key], func(d *Archiver) bool { return d == a }); len(p.drained[key]) == 0 {
		delete(p.drained, key)
	}
	if a.stopped && p.known[key] == nil {
		view := a.look()
		view.Begun, view.Want = false, ""
		p.ended[key] = view
	}
	if next := p.known[key]; next != nil && next != a {
		next.lookAgain() // at what this one has stored beside it
	}
	if p.busy[key]--; p.busy[key] == 0 {
		delete(p.busy, key)
	}
	p.notify(key)
}

func (p *Archives) tell(key worker.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notify(key)
}

// Find returns what the archiver of key reports, or has reported last, and nil if none ever ran. busy is true until a stopped one has returned, too.
func (p *Archives) Find(key worker.Key) (view *state.Archive, busy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	view = p.ended[key]
	if a := p.known[key]; a != nil {
		view = a.look()
	}
	return view, p.busy[key] > 0
}

// Give gives the archiver of key the snapshot that it has asked for. want is what it was taken for.
func (p *Archives) Give(key worker.Key, want string, base archive.Base) {
	p.mu.Lock()
	a := p.known[key]
	p.mu.Unlock()
	if a != nil {
		a.give(want, base)
	}
}

// Taken tells the archiver of key that there is a new snapshot, or another result of a restore test.
func (p *Archives) Taken(key worker.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.known[key]; a != nil {
		a.lookAgain()
	}
}

// ForgetOthers stops the archivers of other objects of that name: all of them if except is empty.
func (p *Archives) ForgetOthers(object types.NamespacedName, except types.UID) {
	p.copies.ForgetOthers(object, except)
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, a := range p.known {
		if key.Object == object && key.UID != except {
			a.cancel(nil)
			delete(p.known, key)
		}
	}
	for key, drained := range p.drained {
		for _, a := range drained {
			if key.Object == object && key.UID != except {
				a.hurry()
			}
		}
	}
	for key := range p.ended {
		if key.Object == object && key.UID != except {
			delete(p.ended, key)
		}
	}
	if except != "" {
		return
	}
	p.metrics.forget(object)
	for key, a := range p.known {
		if key.Object.Namespace == object.Namespace {
			a.lookAgain() // its snapshots may have been deleted with it, and another archive of the folder may have begun with them
		}
	}
}

// Run blocks until ctx ends, then stops all archivers and waits for them. The manager calls it.
func (p *Archives) Run(ctx context.Context) error {
	<-ctx.Done()
	p.mu.Lock()
	p.closed = true
	for _, a := range p.known {
		a.cancel(nil)
	}
	for _, drained := range p.drained {
		for _, a := range drained {
			a.hurry()
		}
	}
	p.mu.Unlock()
	p.group.Wait()
	p.copies.Stop()
	return nil
}

// Source makes a controller reconcile each object whose archiver needs something or has changed.
func (p *Archives) Source() ctrlsource.Source {
	return ctrlsource.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.notify = func(key worker.Key) { queue.Add(reconcile.Request{NamespacedName: key.Object}) }
		p.copies.NotifyBy(p.notify)
		return nil
	})
}

// cleanArchives deletes what killed processes left in the spool. Call it before the first archiver starts.
func cleanArchives(dir string) error {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil
	}
	for _, entry := range entries {
		if err == nil && entry.IsDir() && len(entry.Name()) > len(queue.ArchiveDirs) && entry.Name()[:len(queue.ArchiveDirs)] == queue.ArchiveDirs {
			err = os.RemoveAll(filepath.Join(dir, entry.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("delete the files of earlier archivers in %s: %w", dir, err)
	}
	return nil
}

// Open removes what an earlier process has spooled for its archives.
func Open(registry prometheus.Registerer, c *clients.Clients, s *spool.Spool) (*Archives, error) {
	if err := cleanArchives(s.Dir()); err != nil {
		return nil, err
	}
	counted, err := NewMetrics(registry)
	if err != nil {
		return nil, err
	}
	r := &runner{Clients: c, spool: s, metrics: counted, places: limits.NewPlaces(s, memoryPlaces(debug.SetMemoryLimit(-1)))}
	r.copies = copying.Open(c, r.places, counted.copies)
	archives := New(r.run, counted)
	archives.copies = r.copies
	return archives, nil
}
