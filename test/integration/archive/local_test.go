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
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcd/watch"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// local is a service of archivers in this process.
type local struct {
	*world
	flaky objstore.Store

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

func newLocal(w *world, random *rand.Rand) *local {
	w.root = "continuous-archive/ns/name/"
	return &local{
		world: w, others: map[string]int{}, kill: make(chan struct{}),
		flaky: &flaky{Store: w.store, random: rand.New(rand.NewPCG(random.Uint64(), 1))}, // a test
	}
}

func (l *local) begun() bool { return l.status().Timeline > 0 }

func (l *local) stored() int64 { return l.status().Stored.Revision }

func (l *local) tested() bool { return true } // archivers end faster than the workload

func (l *local) status() archiver.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == nil {
		return archiver.Status{}
	}
	return l.current.Status()
}

func (l *local) report() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("archivers: %d killed, %d moved, %d fenced, other ends: %v; %d bases", l.killed, l.moved, l.fenced, l.others, len(l.base))
}

func (l *local) find(ctx context.Context, target archive.Target) (plan, error) {
	histories, err := archive.Read(ctx, l.store, l.root)
	if err != nil {
		return plan{}, err
	}
	choice, err := archive.Select(histories, l.bases(), target)
	return plan{choice, choice.Base.Key}, err
}

// archive runs one archiver after the other. Some are killed, and some are replaced while they still run.
func (l *local) archive(ctx context.Context, random *rand.Rand) {
	var group sync.WaitGroup
	defer group.Wait()
	for ctx.Err() == nil {
		l.mu.Lock()
		paused := l.paused
		l.mu.Unlock()
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
			l.oneArchiver(limited)
		})
		select {
		case <-time.After(life):
			l.count(overlap > 0)
		case <-ended:
		case <-ctx.Done():
		}
	}
}

func (l *local) pause() (resume func()) {
	l.mu.Lock()
	paused := make(chan struct{})
	l.paused = paused
	close(l.kill)
	l.kill = make(chan struct{})
	l.mu.Unlock()
	l.await("end", func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.running == 0 })
	return func() {
		l.mu.Lock()
		l.paused = nil
		l.mu.Unlock()
		close(paused)
	}
}

func (l *local) count(moved bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if moved {
		l.moved++
	} else {
		l.killed++
	}
}

// oneArchiver is one process: it retries until it is killed.
func (l *local) oneArchiver(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.mu.Lock()
	l.running++
	kill, paused := l.kill, l.paused
	l.mu.Unlock()
	defer func() { l.mu.Lock(); l.running--; l.mu.Unlock() }()
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
	cluster, err := watch.Open(ctx, watch.Options{Endpoints: l.cluster.Endpoints()})
	if err != nil {
		return
	}
	defer cluster.Close()
	a := archiver.New(archiver.Options{
		Cluster: cluster, Store: l.flaky, Root: l.root, Dir: l.t.TempDir(), Encoder: l.encoder(),
		MaxLag: 400 * time.Millisecond, MaxSize: 64 << 10, MaxSpool: 256 << 10, TakeBase: l.takeBase, Now: time.Now,
		RetryMin: 10 * time.Millisecond, RetryMax: 100 * time.Millisecond,
	})
	l.mu.Lock()
	l.current = a
	l.mu.Unlock()
	for ctx.Err() == nil {
		err := a.Run(ctx)
		l.mu.Lock()
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, archiver.ErrFenced):
			l.fenced++
		default:
			l.others[err.Error()]++
		}
		l.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// takeBase saves a snapshot of any member that answers.
func (l *local) takeBase(ctx context.Context, _ string) (archiver.Base, error) {
	source, err := watch.Open(ctx, watch.Options{Endpoints: l.cluster.Endpoints()})
	if err != nil {
		return archiver.Base{}, err
	}
	defer source.Close()
	head, err := source.Head(ctx)
	if err != nil {
		return archiver.Base{}, err
	}
	for _, endpoint := range l.cluster.Endpoints() {
		var base archiver.Base
		if base, err = l.snapshot(ctx, endpoint, head); err == nil {
			l.mu.Lock()
			l.base = append(l.base, archive.Base{
				Key: base.Key, ClusterID: fmt.Sprintf("%016x", base.ClusterID),
				Point: archive.Point{Revision: base.Revision, At: base.At}, Auth: base.Auth,
			})
			l.mu.Unlock()
			return base, nil
		}
	}
	return archiver.Base{}, err
}

func (l *local) snapshot(ctx context.Context, endpoint string, head archiver.Head) (archiver.Base, error) {
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
	f, err := os.Create(filepath.Join(l.t.TempDir(), "base.db"))
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
	return archiver.Base{Key: f.Name(), ClusterID: head.ClusterID, Revision: info.Revision, At: time.Now().UTC(), Auth: info.Auth}, nil
}

// bases returns those that a reader of the store would find.
func (l *local) bases() []archive.Base {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]archive.Base(nil), l.base...)
}
