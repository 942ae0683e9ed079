package backup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	ctrlsource "sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// archives holds the archivers of this process. Each runs in goroutines of its own, beside all passes and attempts.
type archives struct {
	run     func(context.Context, *archiving)
	metrics *archiveMetrics

	mu     sync.Mutex
	closed bool
	known  map[worker.Key]*archiving
	busy   map[worker.Key]int // archivers that have not returned yet, also stopped ones
	group  sync.WaitGroup
	notify func(worker.Key)
}

func newArchives(run func(context.Context, *archiving), m *archiveMetrics) *archives {
	return &archives{run: run, metrics: m, known: map[worker.Key]*archiving{}, busy: map[worker.Key]int{}, notify: func(worker.Key) {}}
}

// archiving is one archiver. Passes read its view, and give it what it asks for.
type archiving struct {
	key    worker.Key
	cancel context.CancelFunc
	notify func()
	// news has an element after each new snapshot.
	news chan struct{}
	turn chan struct{} // held while a base snapshot is asked for

	mu     sync.Mutex
	spec   archiveSpec
	view   Archive
	safeAt time.Time // up to which all was in the store at the last look; zero if that is not known
	answer chan archive.Base
}

// set starts the archiver of key, changes its spec, or stops it if spec is nil.
func (p *archives) set(key worker.Key, spec *archiveSpec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	running := p.known[key]
	if running != nil && (spec == nil || !running.accepts(*spec)) {
		running.cancel()
		delete(p.known, key)
		running = nil
	}
	if spec == nil || running != nil || p.closed {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	a := &archiving{key: key, cancel: cancel, spec: *spec, news: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
	a.notify = func() { p.tell(key) }
	p.known[key] = a
	p.busy[key]++
	p.group.Go(func() {
		defer p.returned(key)
		defer cancel()
		p.run(ctx, a)
	})
}

func (p *archives) returned(key worker.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
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

// find returns what the archiver of key reports, and nil if none runs. busy is true until a stopped one has returned, too.
func (p *archives) find(key worker.Key) (view *Archive, busy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.known[key]; a != nil {
		view = a.look()
	}
	return view, p.busy[key] > 0
}

// taken tells the archiver of key that there is a new snapshot. want is what it was taken for.
func (p *archives) taken(key worker.Key, want string, base *archive.Base) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.known[key]
	if a == nil {
		return
	}
	if base != nil {
		a.give(want, *base)
	}
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// forgetOthers stops the archivers of other objects of that name: all of them if except is empty.
func (p *archives) forgetOthers(object types.NamespacedName, except types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, a := range p.known {
		if key.Object == object && key.UID != except {
			a.cancel()
			delete(p.known, key)
		}
	}
	if except == "" {
		p.metrics.forget(object)
	}
}

// Run blocks until ctx ends, then stops all archivers and waits for them. The manager calls it.
func (p *archives) Run(ctx context.Context) error {
	<-ctx.Done()
	p.mu.Lock()
	p.closed = true
	for _, a := range p.known {
		a.cancel()
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

// accepts changes the spec, unless the archiver has to start again for that.
func (a *archiving) accepts(spec archiveSpec) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !sameArchive(a.spec, spec) {
		return false
	}
	a.spec = spec
	return true
}

func (a *archiving) current() archiveSpec {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spec
}

func (a *archiving) look() *Archive {
	a.mu.Lock()
	defer a.mu.Unlock()
	view := a.view
	return &view
}

func (a *archiving) update(change func(*Archive)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.view)
}

func (a *archiving) safe() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.safeAt
}

// ask waits until a snapshot was taken for a reason. One is asked for at a time.
func (a *archiving) ask(ctx context.Context, reason string) (archive.Base, error) {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return archive.Base{}, context.Cause(ctx)
	}
	defer func() { <-a.turn }()
	answer := make(chan archive.Base, 1)
	a.mu.Lock()
	a.view.Want, a.answer = reason, answer
	a.mu.Unlock()
	a.notify()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.view.Want, a.answer = "", nil
	}()
	select {
	case base := <-answer:
		return base, nil
	case <-ctx.Done():
		return archive.Base{}, context.Cause(ctx)
	}
}

// give answers ask.
func (a *archiving) give(want string, base archive.Base) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answer == nil || a.view.Want != want {
		return
	}
	a.answer <- base
	a.view.Want, a.answer = "", nil
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
