package copying

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/inventory"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// copyBench is an archive with its snapshots in a first location, and a second location in another folder that has copies of the snapshots.
type copyBench struct {
	*attempttest.Kept
	second *objstoretest.Memory
	puts   int
	job    *job
	spec   Spec
	now    time.Time
}

// counting counts the objects that are written.
type counting struct {
	objstore.Store
	puts *int
}

func (c counting) Put(ctx context.Context, key string, body io.Reader) error {
	err := c.Store.Put(ctx, key, body)
	if err == nil {
		*c.puts++
	}
	return err
}

func newCopyBench(t *testing.T) *copyBench {
	b := &copyBench{Kept: attempttest.NewKept(t, snapshot.Passed), second: objstoretest.NewMemory(), now: statetest.T0.Add(5 * time.Hour)}
	s := statetest.ArchivingState(t, statetest.Copies)
	b.O.Copy = &s.CopyTarget
	for _, key := range b.Keys() {
		if !archive.IsKey(key) {
			b.place(key)
		}
	}
	w := attempttest.NewWorld(t)
	w.Now = func() time.Time { return b.now }
	w.Open = func(_ context.Context, a connect.Access) (objstore.Store, error) {
		if a.Bucket == b.O.Copy.Bucket {
			return counting{b.second, &b.puts}, nil
		}
		return b.Memory, nil
	}
	counted, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	b.job = &job{Clients: w.Clients, metrics: counted, places: limits.NewPlaces(nil, 0)}
	b.spec = Spec{job: b.O, maxLag: 5 * time.Second, prunes: true}
	return b
}

// place copies an object of the first location, with the times of its store.
func (b *copyBench) place(key string) {
	b.T.Helper()
	body, err := b.Get(b.T.Context(), key)
	if err != nil {
		b.T.Fatal(err)
	}
	content, err := io.ReadAll(body)
	if err != nil || body.Close() != nil {
		b.T.Fatal(err)
	}
	for object, err := range b.List(b.T.Context(), key) {
		if err != nil {
			b.T.Fatal(err)
		}
		if object.Key == key {
			b.second.Now = func() time.Time { return object.ModTime }
		}
	}
	b.second.Place(b.keyThere(key), content)
}

// keyThere returns the key of a snapshot in the second location.
func (b *copyBench) keyThere(key string) string {
	return b.O.CopiedArchive().SeriesOf(0).Lives() + strings.TrimPrefix(key, b.O.SeriesOf(0).Lives())
}

func (b *copyBench) copying() *copying {
	c := &Copier{spec: b.spec, news: make(chan struct{}, 1), notify: func() {}}
	return &copying{Copier: c, job: b.job}
}

// steps does all that there is to do.
func (b *copyBench) steps(w *copying) {
	b.T.Helper()
	for range 5 {
		if err := w.step(b.T.Context()); err != nil {
			b.T.Fatal(err)
		}
		w.report(nil, 0)
	}
}

// links returns the names of the links in a location.
func links(keys []string, root string) (names []string) {
	for _, key := range keys {
		if strings.HasPrefix(key, root) && !strings.HasPrefix(key, root+"proofs/") {
			names = append(names, strings.TrimPrefix(key, root))
		}
	}
	return names
}

func (b *copyBench) there() []string {
	return links(b.second.Keys(), b.O.CopiedArchive().ArchiveRoot())
}
func (b *copyBench) here() []string { return links(b.Keys(), b.O.ArchiveRoot()) }

// outdated are the names that retention deletes in the first location.
func (b *copyBench) outdated() (names []string) {
	b.T.Helper()
	known := catalog.Known{}
	f, err := inventory.Of(b.T.Context(), b, b.O, known)
	if err != nil {
		b.T.Fatal(err)
	}
	defer f.Survey.Drop()
	o := b.O
	o.Keep.Now = b.now
	all, _, err := inventory.OutdatedBy(b.T.Context(), b, o, f.Survey, f.Index, known)
	if err != nil {
		b.T.Fatal(err)
	}
	for _, n := range all {
		names = append(names, strings.TrimPrefix(n.Key(b.O.ArchiveRoot()), b.O.ArchiveRoot()))
	}
	return names
}

// bases are the snapshots in the second location from which a replay can begin.
func (b *copyBench) bases() []archive.Base {
	b.T.Helper()
	_, bases, err := inventory.Bases(b.T.Context(), b.second, b.O.CopiedArchive(), catalog.Known{}, b.O.Keep.Window)
	if err != nil {
		b.T.Fatal(err)
	}
	return bases
}
