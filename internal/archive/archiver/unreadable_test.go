package archiver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// A lifecycle rule moved the start, or the last segment of a cluster that was idle for long. After the next upgrade of backup-operator nothing was
// archived any more, although the cluster and the store took writes.
func TestAnArchiverContinuesAfterTheEndOfItsTimelineBecameUnreadable(t *testing.T) {
	for name, which := range map[string]func(links []archive.Link) []string{
		"the start":        func([]archive.Link) []string { return []string{archive.StartKey(root, 1)} },
		"the last segment": func(links []archive.Link) []string { return []string{links[len(links)-1].Key} },
		"both": func(links []archive.Link) []string {
			return []string{archive.StartKey(root, 1), links[len(links)-1].Key}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.put("1", "a")
			b.archived(2)
			b.put("2", "b")
			b.archived(3)
			b.put("3", "c")
			b.archived(4)
			store := objstoretest.NewFaulty(b.store)
			for _, key := range which(b.histories()[0].Links) {
				store.Set(key, objstoretest.Cold)
			}
			b.put("4", "d")
			b.archived(5, func(o *Options) { o.Store = store })
			if n := len(b.histories()); n != 2 || !b.histories()[1].Start.Lost || !slices.Contains(b.reasons(), "timeline 2: "+reasonUnread) {
				t.Errorf("%d timelines, bases for %q", n, b.reasons())
			}
			b.put("5", "e") // and after the next restart it extends timeline 2
			b.archived(6, func(o *Options) { o.Store = store })
			if n := len(b.histories()); n != 2 {
				t.Errorf("%d timelines after another restart, want 2", n)
			}
		})
	}
}

// A user took the right to read away. Each start of the archiver would take a snapshot and begin a timeline that cannot be read either. What decides is
// a new object, and not whether another object of the archive can be read: all of an idle archive may be in an archive tier.
func TestAnArchiverBeginsNoTimelineIfTheStoreReturnsNothing(t *testing.T) {
	b := newBench(t)
	b.put("1", "a")
	b.archived(2)
	store := &sealedStore{Store: b.store, all: true}
	before := len(b.reasons())
	if err := b.runs(store); !errors.Is(err, fs.ErrPermission) || !errors.Is(err, ErrUnreturned) || len(b.reasons()) != before {
		t.Errorf("error %v, bases for %q", err, b.reasons()[before:])
	}
	b.wantNoProbe()
}

// The bucket got another default key, which the operator may encrypt with and not decrypt. The archiver took full snapshots and began timelines
// without an end: four of them at each start, and it started again each minute.
func TestAnArchiverTakesNoSnapshotsForTimelinesThatItCannotRead(t *testing.T) {
	b := newBench(t)
	b.put("1", "a")
	b.archived(2)
	store := &sealedStore{Store: b.store, written: map[string]bool{}}
	b.put("2", "b")
	b.archived(3, func(o *Options) { o.Store = store })
	before := len(b.reasons())
	for range 2 {
		if err := b.runs(store); !errors.Is(err, ErrUnreturned) {
			t.Errorf("error %v", err)
		}
	}
	if bases := b.reasons()[before:]; len(bases) > 0 {
		t.Errorf("bases for %q", bases)
	}
	b.wantNoProbe()
}

// A cluster was idle for longer than the window, so its archive had one start and one segment. A lifecycle rule moved them, or the store lost one of
// them for good, or only listed it. After the next restart of backup-operator nothing was archived any more.
func TestAnIdleArchiveWhoseEndCannotBeReadIsContinued(t *testing.T) {
	for name, fault := range map[string]func(store *objstoretest.Faulty, start, last string) objstore.Store{
		"all is cold": func(store *objstoretest.Faulty, start, last string) objstore.Store {
			store.Set(start, objstoretest.Cold)
			store.Set(last, objstoretest.Cold)
			return store
		},
		"the start is lost": func(store *objstoretest.Faulty, start, _ string) objstore.Store {
			store.Set(start, objstoretest.Lost)
			return store
		},
		"the last segment is lost": func(store *objstoretest.Faulty, _, last string) objstore.Store {
			store.Set(last, objstoretest.Lost)
			return store
		},
		"the start is only listed":        func(store *objstoretest.Faulty, start, _ string) objstore.Store { return ghost{store, start} },
		"the last segment is only listed": func(store *objstoretest.Faulty, _, last string) objstore.Store { return ghost{store, last} },
	} {
		t.Run(name, func(t *testing.T) {
			b, start, last := idle(t)
			store := fault(objstoretest.NewFaulty(b.store), start, last)
			b.put("4", "d")
			b.archived(5, func(o *Options) { o.Store, o.RetryMin = store, time.Millisecond })
			if names := b.timelines(); names != 2 {
				t.Errorf("%d timelines, want 2", names)
			}
			b.wantNoProbe()
		})
	}
}

// A store failed for a moment, and the archiver ended a timeline for it.
func TestAMomentaryErrorOfTheEndBeginsNoTimeline(t *testing.T) {
	b, start, _ := idle(t)
	store := &momentary{Store: b.store, key: start, left: 2}
	if err := b.runs(store); !errors.Is(err, objstoretest.ErrLost) {
		t.Errorf("error %v", err)
	}
	b.put("4", "d")
	b.archived(5, func(o *Options) { o.Store = store })
	if n := b.timelines(); n != 1 {
		t.Errorf("%d timelines, want 1", n)
	}
}

// idle is the archive of a cluster that has been idle for longer than the window: all links but the last one are deleted.
func idle(t *testing.T) (b *bench, start, last string) {
	t.Helper()
	b = newBench(t)
	for revision := int64(2); revision < 5; revision++ {
		b.put("1", "a")
		b.archived(revision)
	}
	links := b.histories()[0].Links
	for _, l := range links[:len(links)-1] {
		if err := b.store.Delete(t.Context(), l.Key); err != nil {
			t.Fatal(err)
		}
	}
	return b, archive.StartKey(root, 1), links[len(links)-1].Key
}

// runs returns how an archiver ends.
func (b *bench) runs(store objstore.Store) error {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Second)
	defer cancel()
	return New(Options{Cluster: b.cluster, Store: store, Root: root, Dir: b.TempDir(), TakeBase: b.takeBase, Now: time.Now}).Run(ctx)
}

// timelines returns how many there are.
func (b *bench) timelines() int {
	b.Helper()
	all, release, err := archive.List(b.Context(), b.store, root)
	if err != nil {
		b.Fatal(err)
	}
	release()
	return len(all)
}

// wantNoProbe fails if an object that tests the store is left.
func (b *bench) wantNoProbe() {
	b.Helper()
	for object := range b.store.List(b.Context(), root+"probes/") {
		b.Errorf("%s was not deleted", object.Key)
	}
}

// sealedStore refuses to return what was written through it, or all objects.
type sealedStore struct {
	objstore.Store
	all bool

	mu      sync.Mutex
	written map[string]bool
}

func (s *sealedStore) Put(ctx context.Context, key string, body io.Reader) error {
	err := s.Store.Put(ctx, key, body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && !s.all {
		s.written[key] = true
	}
	return err
}

func (s *sealedStore) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := s.Store.Get(ctx, key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && (s.all || s.written[key]) {
		return nil, errors.Join(fmt.Errorf("403 AccessDenied: not authorized to perform kms:Decrypt: %w", fs.ErrPermission), body.Close())
	}
	return body, err
}

// ghost lists an object that it does not have: a stale entry of the index of a bucket, or a listing that lags behind a deletion.
type ghost struct {
	objstore.Store
	key string
}

func (g ghost) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if key == g.key {
		return nil, fmt.Errorf("404 NoSuchKey: %w", fs.ErrNotExist)
	}
	return g.Store.Get(ctx, key)
}

// momentary fails some times for one object.
type momentary struct {
	objstore.Store
	key string

	mu   sync.Mutex
	left int
}

func (m *momentary) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if key == m.key && m.left > 0 {
		m.left--
		return nil, objstoretest.ErrLost
	}
	return m.Store.Get(ctx, key)
}
