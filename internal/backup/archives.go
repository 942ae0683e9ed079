package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// archives holds the archivers of this process. Each runs in goroutines of its own, beside all passes and attempts.
type archives struct {
	run     func(context.Context, *archiving)
	metrics *archiveMetrics

	mu     sync.Mutex
	closed bool
	known  map[worker.Key]*archiving
	busy   map[worker.Key]int      // archivers that have not returned yet, also stopped ones
	ended  map[worker.Key]*Archive // the last views of stopped archivers
	// drained are stopped archivers of clusters that are recovered from a lost quorum. They store what they still have.
	drained map[worker.Key][]*archiving
	group   sync.WaitGroup
	notify  func(worker.Key)
}

func newArchives(run func(context.Context, *archiving), m *archiveMetrics) *archives {
	return &archives{run: run, metrics: m, known: map[worker.Key]*archiving{}, busy: map[worker.Key]int{}, ended: map[worker.Key]*Archive{}, drained: map[worker.Key][]*archiving{}, notify: func(worker.Key) {}}
}

// set starts the archiver of key, changes its spec, or stops it if spec is nil.
func (p *archives) set(key worker.Key, spec *archiveSpec) {
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
	a := &archiving{key: key, cancel: cancel, hurry: hurry, hurried: hurried.Done(), spec: *spec, news: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
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

// drain stops the archiver of key, because its cluster is being recovered from a lost quorum. The archiver stores what it still has, however
// long the store is down, because it may have the only copy.
func (p *archives) drain(key worker.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if running := p.known[key]; running != nil {
		p.stop(running, archiver.ErrRecovery)
	}
}

// stop needs p.mu.
func (p *archives) stop(a *archiving, cause error) {
	a.stopped = true
	delete(p.known, a.key)
	if errors.Is(cause, archiver.ErrRecovery) {
		p.drained[a.key] = append(p.drained[a.key], a)
	}
	a.cancel(cause)
}

// returned keeps the last view of a stopped archiver: it has stored its last segment after it was stopped.
func (p *archives) returned(a *archiving) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := a.key
	if p.drained[key] = slices.DeleteFunc(p.drained[key], func(d *archiving) bool { return d == a }); len(p.drained[key]) == 0 {
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

func (p *archives) tell(key worker.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notify(key)
}

// find returns what the archiver of key reports, or has reported last, and nil if none ever ran. busy is true until a stopped one has returned, too.
func (p *archives) find(key worker.Key) (view *Archive, busy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	view = p.ended[key]
	if a := p.known[key]; a != nil {
		view = a.look()
	}
	return view, p.busy[key] > 0
}

// give gives the archiver of key the snapshot that it has asked for. want is what it was taken for.
func (p *archives) give(key worker.Key, want string, base archive.Base) {
	p.mu.Lock()
	a := p.known[key]
	p.mu.Unlock()
	if a != nil {
		a.give(want, base)
	}
}

// taken tells the archiver of key that there is a new snapshot, or another result of a restore test.
func (p *archives) taken(key worker.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.known[key]; a != nil {
		a.lookAgain()
	}
}

// forgetOthers stops the archivers of other objects of that name: all of them if except is empty.
func (p *archives) forgetOthers(object types.NamespacedName, except types.UID) {
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
func (p *archives) Run(ctx context.Context) error {
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
	return nil
}

// Source makes a controller reconcile each object whose archiver needs something or has changed.
func (p *archives) Source() ctrlsource.Source {
	return ctrlsource.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.notify = func(key worker.Key) { queue.Add(reconcile.Request{NamespacedName: key.Object}) }
		return nil
	})
}

// archiveDirs are the directories in the spool.
const archiveDirs = "archive-"

// cleanArchives deletes what killed processes left in the spool. Call it before the first archiver starts.
func cleanArchives(dir string) error {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil
	}
	for _, entry := range entries {
		if err == nil && entry.IsDir() && len(entry.Name()) > len(archiveDirs) && entry.Name()[:len(archiveDirs)] == archiveDirs {
			err = os.RemoveAll(filepath.Join(dir, entry.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("delete the files of earlier archivers in %s: %w", dir, err)
	}
	return nil
}

// pause waits, and returns false if ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
