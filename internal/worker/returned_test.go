package worker_test

import (
	"bytes"
	"context"
	"io"
	"iter"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// etcdOf streams a database.
type etcdOf []byte

func (e etcdOf) Snapshot(context.Context) (io.ReadCloser, int64, error) {
	return io.NopCloser(bytes.NewReader(e)), int64(len(e)), nil
}

// hostileStore takes objects, and never answers about a manifest.
type hostileStore struct {
	objstore.Store
	stalled *atomic.Int32
}

func (h hostileStore) Put(ctx context.Context, key string, body io.Reader) error {
	if _, of := body.(interface{ Reread() io.ReaderAt }); !of { // a draft or a manifest, after the check of the database
		h.stalled.Add(1)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return h.Store.Put(ctx, key, body)
}

func (h hostileStore) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return h.Store.List(ctx, prefix)
}

// This is the whole way of a snapshot of 30 KiB: the real Save, with the check of the database in its own process. Six EtcdBackups of one namespace
// wait for that check, one after the other. Those that wait have left their workers, and return after the check even if there is no worker. So the left
// workers must be for other namespaces.
func TestBackupsOfOneNamespaceLeaveAWorkerAfterTheirChecks(t *testing.T) {
	pool, content := worker.NewLanes[int](map[string]int{"snapshot": 4}), dbfiletest.New(t, 1).Put(100, 200).Snapshot()
	save := func(ctx context.Context, namespace string, n int, store objstore.Store) error {
		ctx, held := objstore.Hold(ctx, namespace)
		defer held.Release()
		_, err := save.Snapshot(ctx, save.Request{
			Namespace: namespace, Source: etcdOf(content), Store: store, Key: "folder/" + strconv.Itoa(n), SpoolDir: t.TempDir(), Time: time.Now(), Attempt: strconv.Itoa(n),
		})
		return err
	}
	claim := worker.Claim{Lane: "snapshot", Namespace: 2} // as in the chart
	stalling := hostileStore{objstoretest.NewMemory(), &atomic.Int32{}}
	for n := range 8 {
		pool.StartIn(of("hostile", n), claim, func(ctx context.Context) (int, error) { return 0, save(ctx, "hostile", n, stalling) })
	}
	for stalling.stalled.Load() < 2 {
		<-time.After(10 * time.Millisecond)
	}
	if _, running := pool.Queue("snapshot"); running > 2 {
		t.Errorf("one namespace holds %d of 4 workers, and may have 2", running)
	}
	pool.StartIn(of("good", 0), claim, func(ctx context.Context) (int, error) {
		return 0, save(ctx, "good", 0, objstoretest.NewMemory())
	})
	began := time.Now()
	for done, err := false, error(nil); !done; _, done, err = pool.Result(of("good", 0)) {
		if err != nil {
			t.Fatal(err)
		}
		if time.Since(began) > 15*time.Second {
			t.Errorf("the backup of another namespace has not begun after %s: %s", time.Since(began), pool.WhyWaiting(of("good", 0)))
			break
		}
		<-time.After(50 * time.Millisecond)
	}
	if stalled := stalling.stalled.Load(); stalled > 2 {
		t.Errorf("%d backups of one namespace wait for its store, and it may have 2 workers", stalled)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = pool.Run(ctx)
}
