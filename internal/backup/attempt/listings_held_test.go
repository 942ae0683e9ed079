package attempt_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// crowdedStore is a store of a tenant that lists, beside what it has, as many names below each series as one listing may have.
type crowdedStore struct{ objstore.Store }

func (c crowdedStore) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		if strings.HasSuffix(prefix, "/") {
			for i := range 300_000 {
				name := fmt.Sprintf("%s0%08d", prefix, i)
				if !yield(objstore.Object{Key: name + strings.Repeat("x", 240-len(name)), Size: 1, ModTime: statetest.T0}, nil) {
					return
				}
			}
		}
		for o, err := range c.Store.List(ctx, prefix) {
			if !yield(o, err) {
				return
			}
		}
	}
}

// An attempt whose snapshot is in the store waits for its restore test, of which a namespace has one at a time, and it still holds what it has listed.
// Five EtcdBackups of one tenant held 971 MiB so, and backup-operator was killed for all namespaces.
func TestAttemptsThatWaitForARestoreTestHoldBoundedMemory(t *testing.T) {
	const attempts = 5
	options := queue.Options{MaxConcurrent: 4, MaxPerNamespace: 2, MaxPerStore: 3, MaxRestoreTests: 1} // as in the chart
	w := attempttest.NewWorld(t)
	w.Store = objstore.Bounded(crowdedStore{Store: w.Store}, objstore.DefaultLimits)
	ctx, cancel := context.WithCancel(t.Context())
	stalls := make(chan struct{})
	w.Drill = func(ctx context.Context, _ proof.RestoreTestRequest) (proof.RestoreTestResult, error) {
		select {
		case stalls <- struct{}{}:
		default:
		}
		<-ctx.Done() // the server sends a byte now and then
		return proof.RestoreTestResult{}, context.Cause(ctx)
	}
	live := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc >> 20
	}
	before := live()
	var refused atomic.Int32
	running := queue.NewAttempts(options.Lanes())
	for n := range attempts {
		s := statetest.Series(statetest.Verifies, func(s *state.State) {
			s.Name, s.UID = fmt.Sprintf("b%d", n), types.UID(fmt.Sprint(n))
		})
		o := state.JobSpecOf(s)
		o.Kind = state.KindSnapshot
		progress := &queue.Progress{Kind: state.KindSnapshot}
		key := worker.Key{Object: types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, UID: s.UID}
		running.Start(key, options.Limits().Claim(o), progress, func(ctx context.Context, p *queue.Progress) state.Result {
			r := w.Run(ctx, o, p)
			switch {
			case ctx.Err() != nil:
			case r.Failure != nil && r.Failure.Reason == v1beta2.ReasonRetrying:
				refused.Add(1) // others hold the memory
			default:
				t.Errorf("%s: %+v", s.Name, r.Failure)
			}
			return r
		})
	}
	deadline := time.After(5 * time.Minute)
	for waiting := 0; waiting == 0 || waiting+int(refused.Load()) < attempts; {
		select {
		case <-deadline:
			t.Fatalf("%d attempts wait for their restore test, and %d were refused", waiting, refused.Load())
		case <-time.After(100 * time.Millisecond):
			_, waiting = running.Pool.Queue(queue.LaneVerify)
		}
	}
	held := live() - before
	t.Logf("of %d attempts of one namespace, %d were refused, and the others hold %d MiB", attempts, refused.Load(), held)
	if held > objstore.HeldMemory>>20 {
		t.Errorf("attempts of one namespace that wait for a restore test hold %d MiB, and all namespaces may hold %d MiB", held, objstore.HeldMemory>>20)
	}
	done := make(chan struct{})
	cancel()
	go func() { _ = running.Pool.Run(ctx); close(done) }()
	<-done
}
