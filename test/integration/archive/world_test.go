package archive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcd/watch"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// record is what the cluster had at a revision.
type record struct {
	revision, compacted int64
	hash                uint32
	asked               time.Time // when the client began to write the revision
	acked               time.Time // when the client had the answer
}

// world is a cluster under a workload, its archivers and what was recorded.
type world struct {
	t        *testing.T
	cluster  *servers.EtcdCluster
	client   *clientv3.Client
	store    objstore.Store
	identity string
	encoder  archive.Encoder

	began, ended time.Time

	mu      sync.Mutex
	recs    map[int64]record
	base    []archive.Base
	current *archiver.Archiver
	killed  int
	moved   int
	fenced  int
	others  map[string]int // further ends of archivers
	running int            // archivers
	kill    chan struct{}  // closed to kill all archivers
	paused  chan struct{}  // closed when archivers may start again; nil if they may
}

// run runs the workload and everything that disturbs it, until all that was written is archived.
func run(t *testing.T, random *rand.Rand, cluster *servers.EtcdCluster, store objstore.Store) *world {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: cluster.Endpoints(), DialTimeout: 3 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	w := &world{
		t: t, cluster: cluster, client: client, recs: map[int64]record{}, others: map[string]int{}, kill: make(chan struct{}),
		store:    &flaky{Store: store, random: rand.New(rand.NewPCG(random.Uint64(), 1))}, //nolint:gosec // a test
		identity: identity.String(),
		encoder:  archive.Encoder{Compression: archive.Zstd, Recipients: []string{identity.Recipient().String()}},
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	seeds := [3]uint64{random.Uint64(), random.Uint64(), random.Uint64()}
	group.Go(func() { w.archive(ctx, rand.New(rand.NewPCG(seeds[0], 2))) }) //nolint:gosec // a test
	w.await("begin", func() bool {                                          // the store may have refused the first timeline after its base was taken
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.current != nil && w.current.Status().Timeline > 0
	})
	w.began = time.Now()
	disturbed, stop := context.WithTimeout(ctx, *duration+40*time.Second)
	defer stop()
	var disturbers sync.WaitGroup
	disturbers.Go(func() { w.killMembers(disturbed, rand.New(rand.NewPCG(seeds[1], 3))) }) //nolint:gosec // a test
	w.workload(disturbed, rand.New(rand.NewPCG(seeds[2], 4)))                              //nolint:gosec // a test
	stop()
	disturbers.Wait()
	w.ended = time.Now()
	last := w.records()[len(w.recs)-1].revision
	w.await(fmt.Sprintf("archive revision %d", last), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.current != nil && w.current.Status().Stored.Revision >= last
	})
	cancel()
	group.Wait()
	histories, err := archive.Read(t.Context(), store, root)
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, h := range histories {
		links += len(h.Links)
	}
	t.Logf("%d revisions recorded up to %d; archivers: %d killed, %d moved, %d fenced, other ends: %v; %d timelines, %d links, %d bases; recoverable: %v",
		len(w.recs), last, w.killed, w.moved, w.fenced, w.others, len(histories), links, len(w.base), archive.Recoverable(histories, w.bases()))
	return w
}

func (w *world) await(what string, met func() bool) {
	w.t.Helper()
	deadline := time.After(40 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !met() {
		select {
		case <-tick.C:
		case <-deadline:
			w.t.Fatalf("the archivers did not %s in time: %+v, ends: %v", what, w.current.Status(), w.others)
		}
	}
}

// archive runs one archiver after the other. Some are killed, and some are replaced while they still run.
func (w *world) archive(ctx context.Context, random *rand.Rand) {
	var group sync.WaitGroup
	defer group.Wait()
	for ctx.Err() == nil {
		w.mu.Lock()
		paused := w.paused
		w.mu.Unlock()
		if paused != nil {
			<-paused
		}
		life := time.Duration(200+random.IntN(2500)) * time.Millisecond
		overlap := time.Duration(0)
		if random.IntN(2) == 0 {
			overlap = time.Duration(random.IntN(1500)) * time.Millisecond
		}
		ended := make(chan struct{})
		group.Go(func() {
			defer close(ended)
			limited, cancel := context.WithTimeout(ctx, life+overlap)
			defer cancel()
			w.oneArchiver(limited)
		})
		select {
		case <-time.After(life):
			w.count(overlap > 0)
		case <-ended:
		case <-ctx.Done():
		}
	}
}

// pause kills all archivers and lets none start until resume is called.
func (w *world) pause() (resume func()) {
	w.mu.Lock()
	paused := make(chan struct{})
	w.paused = paused
	close(w.kill)
	w.kill = make(chan struct{})
	w.mu.Unlock()
	w.await("end", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.running == 0 })
	return func() {
		w.mu.Lock()
		w.paused = nil
		w.mu.Unlock()
		close(paused)
	}
}

func (w *world) count(moved bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if moved {
		w.moved++
	} else {
		w.killed++
	}
}

// oneArchiver is one process: it retries until it is killed.
func (w *world) oneArchiver(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.mu.Lock()
	w.running++
	kill, paused := w.kill, w.paused
	w.mu.Unlock()
	defer func() { w.mu.Lock(); w.running--; w.mu.Unlock() }()
	if paused != nil {
		return
	}
	go func() {
		select {
		case <-kill:
			cancel()
		case <-ctx.Done():
		}
	}()
	cluster, err := watch.Open(ctx, watch.Options{Endpoints: w.cluster.Endpoints()})
	if err != nil {
		return
	}
	defer cluster.Close()
	a := archiver.New(archiver.Options{
		Cluster: cluster, Store: w.store, Root: root, Dir: w.t.TempDir(), Encoder: w.encoder,
		MaxLag: 400 * time.Millisecond, MaxSize: 64 << 10, MaxSpool: 256 << 10, TakeBase: w.takeBase, Now: time.Now,
		RetryMin: 10 * time.Millisecond, RetryMax: 100 * time.Millisecond,
	})
	w.mu.Lock()
	w.current = a
	w.mu.Unlock()
	for ctx.Err() == nil {
		err := a.Run(ctx)
		w.mu.Lock()
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, archiver.ErrFenced):
			w.fenced++
		default:
			w.others[err.Error()]++
		}
		w.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// takeBase saves a snapshot of any member that answers.
func (w *world) takeBase(ctx context.Context, _ string) (archiver.Base, error) {
	source, err := watch.Open(ctx, watch.Options{Endpoints: w.cluster.Endpoints()})
	if err != nil {
		return archiver.Base{}, err
	}
	defer source.Close()
	head, err := source.Head(ctx)
	if err != nil {
		return archiver.Base{}, err
	}
	auth, err := source.AuthRevision(ctx)
	if err != nil {
		return archiver.Base{}, err
	}
	for _, endpoint := range w.cluster.Endpoints() {
		var base archiver.Base
		if base, err = w.snapshot(ctx, endpoint, head); err == nil {
			base.AuthRevision = auth
			w.mu.Lock()
			w.base = append(w.base, archive.Base{
				Key: base.Key, ClusterID: fmt.Sprintf("%016x", base.ClusterID),
				Point: archive.Point{Revision: base.Revision, At: base.At}, AuthRevision: auth,
			})
			w.mu.Unlock()
			return base, nil
		}
	}
	return archiver.Base{}, err
}

func (w *world) snapshot(ctx context.Context, endpoint string, head archiver.Head) (archiver.Base, error) {
	member, err := etcd.Open(etcd.Endpoint{URL: endpoint}, nil)
	if err != nil {
		return archiver.Base{}, err
	}
	defer member.Close()
	stream, _, err := member.Snapshot(ctx)
	if err != nil {
		return archiver.Base{}, err
	}
	defer stream.Close()
	f, err := os.Create(filepath.Join(w.t.TempDir(), "base.db"))
	if err != nil {
		return archiver.Base{}, err
	}
	_, err = io.Copy(f, stream)
	if err = errors.Join(err, f.Close()); err != nil {
		return archiver.Base{}, err
	}
	info, err := dbfile.Inspect(f.Name())
	if err != nil {
		return archiver.Base{}, err
	}
	info.Revision = max(1, info.Revision) // an empty store is at revision 1
	if info.Revision < head.Revision {
		return archiver.Base{}, fmt.Errorf("the member at %s is behind its cluster", endpoint)
	}
	return archiver.Base{Key: f.Name(), ClusterID: head.ClusterID, Revision: info.Revision, At: time.Now().UTC()}, nil
}

// bases returns those that a reader of the store would find.
func (w *world) bases() []archive.Base {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]archive.Base(nil), w.base...)
}

// flaky is a store in which some requests fail, some of them after they had their effect.
type flaky struct {
	objstore.Store
	mu     sync.Mutex
	random *rand.Rand
}

var errFlaky = errors.New("the store failed on purpose")

func (f *flaky) dice(sides int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(sides)
}

func (f *flaky) Put(ctx context.Context, key string, body io.Reader) error {
	switch f.dice(6) {
	case 0:
		return errFlaky
	case 1:
		if err := f.Store.Put(ctx, key, body); err != nil {
			return err
		}
		return errFlaky // the answer is lost
	case 2:
		select {
		case <-time.After(time.Duration(f.dice(400)) * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return f.Store.Put(ctx, key, body)
}

func (f *flaky) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if f.dice(10) == 0 {
		return nil, errFlaky
	}
	return f.Store.Get(ctx, key)
}
