package catalog

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// A tenant has several folders with many snapshots, and each of their attempts held its names and manifests beside those of the others. Together they
// took the memory of backup-operator, which restarted again and again, and no namespace had backups.
func TestTheNamesAndManifestsOfManyAttemptsTakeTheMemoryOfOneNamespace(t *testing.T) {
	used, restore := objstore.ReplaceMemory(8 << 20)
	defer restore()
	for name, hold := range map[string]func(context.Context) error{
		"names": func(ctx context.Context) error { _, err := Scan(ctx, many{count: 6000}, many{}.prefix()); return err },
		"names of leftovers": func(ctx context.Context) error {
			_, err := FindLeftovers(ctx, objstore.Bounded(many{count: 6000}, objstore.DefaultLimits), snapshot.Series{Namespace: "ns", Cluster: "c", ClusterID: 1}, "mark", firstDay)
			return err
		},
		"manifests": func(ctx context.Context) error {
			return Known{}.Read(ctx, crowded{content: manifestWith(strings.Repeat("x", 500))}, itemsOf(600), snapshot.Anyone)
		},
		"all of a listing": func(ctx context.Context) error { _, err := List(ctx, many{count: 2500}, many{}.prefix()); return err },
	} {
		var held []*objstore.Holding
		fit := 0
		for range 10 {
			ctx, h := objstore.Hold(t.Context(), "stalls")
			if err := hold(ctx); err == nil {
				fit++
			} else if !errors.Is(err, objstore.ErrMemory) || !strings.Contains(err.Error(), string(turns.OwnShare)) {
				t.Errorf("%s: %v", name, err)
			}
			held = append(held, h)
		}
		if fit != 1 {
			t.Errorf("%s of %d attempts fit, want 1", name, fit)
		}
		_, other := objstore.Hold(t.Context(), "other")
		if err := other.Add(512 << 10); err != nil {
			t.Errorf("%s: another namespace has no share: %v", name, err)
		}
		for _, h := range append(held, other) {
			h.Release()
		}
		if n := used(); n != 0 {
			t.Errorf("%s: %d bytes are counted in the end", name, n)
		}
	}
}

// While others hold the memory, a snapshot is still taken. Only the old ones are not deleted.
func TestASnapshotIsTakenWhileOthersHoldTheMemory(t *testing.T) {
	used, restore := objstore.ReplaceMemory(4 << 20)
	defer restore()
	for others, holds := range map[string]int64{"others": 3 << 20, "stalls": 3 << 20} {
		_, full := objstore.Hold(t.Context(), others)
		if err := full.Add(holds); err != nil {
			t.Fatal(err)
		}
		ctx, h := objstore.Hold(t.Context(), "stalls")
		index, err := ScanNewest(ctx, many{count: 20_000}, many{}.prefix())
		if err != nil || !errors.Is(index.Incomplete, objstore.ErrMemory) && !errors.Is(index.Incomplete, objstore.ErrListing) || len(index.Items) == 0 {
			t.Fatalf("error %v, %d snapshots, incomplete: %v", err, len(index.Items), index.Incomplete)
		}
		if newest := index.Items[0]; newest.Time != firstDay.Add(time.Duration(20_000-1)*time.Second) {
			t.Errorf("the newest one is of %s", newest.Time)
		}
		h.Release()
		full.Release()
	}
	if n := used(); n != 0 {
		t.Errorf("%d bytes are counted in the end", n)
	}
}

// What does not fit even alone is refused for good, with the reason that has a page in the manual.
func TestAFolderThatNeverFitsIsNotTriedAgain(t *testing.T) {
	_, restore := objstore.ReplaceMemory(1 << 20)
	defer restore()
	ctx, h := objstore.Hold(t.Context(), "ns")
	defer h.Release()
	if _, err := Scan(ctx, many{count: 10_000}, many{}.prefix()); !errors.Is(err, objstore.ErrListing) {
		t.Errorf("error %v", err)
	}
}

// What is counted for a name and for a manifest is what it takes. Otherwise many of them take more memory than the operator has.
func TestNamesAndManifestsTakeNoMoreThanIsCounted(t *testing.T) {
	const snapshots = 50_000
	store := many{count: snapshots}
	each := objstore.NameBytes + len(snapshot.Series{Namespace: "ns", Cluster: "c", ClusterID: 1}.Key(firstDay, 1)+".json")
	heaptest.Holds(t, uint64(2*snapshots*each)>>10, func() any {
		index, err := Scan(t.Context(), store, store.prefix())
		if err != nil || len(index.Items) != snapshots {
			t.Errorf("%d snapshots, error %v", len(index.Items), err)
		}
		return index
	})
	heaptest.Holds(t, 2000*(manifestBytes+13*512)>>10, func() any {
		known := Known{}
		if err := known.Read(t.Context(), crowded{content: manifestWith(strings.Repeat("x", 512))}, itemsOf(2000), snapshot.Anyone); err != nil {
			t.Error(err)
		}
		return known
	})
}

var firstDay = time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)

// many is a store with snapshots of one series, one for each second.
type many struct {
	objstore.Store
	count int
}

func (many) prefix() string {
	return snapshot.Series{Namespace: "ns", Cluster: "c", ClusterID: 1}.Prefix()
}

func (m many) List(context.Context, string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for i := range m.count {
			key := snapshot.Series{Namespace: "ns", Cluster: "c", ClusterID: 1}.Key(firstDay.Add(time.Duration(i)*time.Second), 1)
			for _, name := range []string{key, snapshot.ManifestKey(key)} {
				if !yield(objstore.Object{Key: name, Size: 1, ModTime: firstDay.Add(time.Hour)}, nil) {
					return
				}
			}
		}
	}
}

func (m many) Get(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(manifestWith("x"))), nil
}

// trickling returns objects that grow to almost the bound of a manifest, and then send nothing until the test ends.
type trickling struct {
	objstore.Store
	sent  chan struct{}
	ended <-chan struct{}
}

func (s trickling) Get(context.Context, string) (io.ReadCloser, error) {
	from, to := io.Pipe()
	go func() {
		part := bytes.Repeat([]byte(" "), 100<<10)
		for range 10 {
			if _, err := to.Write(part); err != nil {
				break
			}
		}
		s.sent <- struct{}{}
		<-s.ended
		_ = to.CloseWithError(io.ErrUnexpectedEOF)
	}()
	return from, nil
}

// A user had a hundred archives, in a store whose manifests grow to a MiB and never end. Each archive reads eight of them at the same time, so that all of them
// took more memory than backup-operator has.
func TestManifestsThatAreBeingReadTakeBoundedMemory(t *testing.T) {
	used, restore := objstore.ReplaceMemory(32 << 20)
	defer restore()
	const archives = 20
	ended, results := make(chan struct{}), make(chan error, archives)
	store := trickling{sent: make(chan struct{}, archives*readers), ended: ended}
	defer debug.SetGCPercent(debug.SetGCPercent(25)) // garbage does not count
	heaptest.Bound(t, 64, func() {
		for range archives {
			go func() {
				ctx, h := objstore.Hold(t.Context(), "hostile")
				defer h.Release()
				results <- Known{}.Read(ctx, store, itemsOf(readers), snapshot.Anyone)
			}()
		}
		for more := true; more; { // what is refused begins no further reading
			select {
			case <-store.sent:
			case <-time.After(3 * time.Second):
				more = false
			}
		}
	})
	close(ended)
	refused := 0
	for range archives {
		if err := <-results; errors.Is(err, objstore.ErrMemory) || errors.Is(err, objstore.ErrListing) {
			refused++
		}
	}
	if refused == 0 || used() != 0 {
		t.Errorf("%d of %d archives had no memory, and %d bytes are counted in the end", refused, archives, used())
	}
}
