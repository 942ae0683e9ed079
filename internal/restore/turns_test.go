package restore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// The signers of URLs had no limit for a namespace.
func TestANamespaceThatStallsLeavesAWorkerOfEachKindToOthers(t *testing.T) {
	r := newPools(3)
	t.Run("readings", func(t *testing.T) { stall(t, r.reader.proofs) })
	t.Run("safety snapshots", func(t *testing.T) { stall(t, r.saver.safeties) })
	t.Run("signed URLs", func(t *testing.T) { stall(t, r.urls.renewals) })
}

func newPools(limit int) *Reconciler {
	return newReconciler(nil, nil, nil, time.Now, Options{MaxProofs: limit})
}

func stall[T any](t *testing.T, pool *worker.Pool[T]) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start := func(namespace string, n int, run func(context.Context)) worker.Key {
			key := worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(n)}, UID: types.UID(namespace)}
			pool.Start(key, func(ctx context.Context) (result T, err error) { run(ctx); return result, nil })
			return key
		}
		for n := range 10 {
			start("stalls", n, func(ctx context.Context) { <-ctx.Done() })
		}
		other := start("other", 0, func(context.Context) {})
		<-time.After(5 * time.Second)
		if _, done, _ := pool.Result(other); !done {
			t.Error("another namespace waits")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = pool.Run(ctx)
	})
}

// computing is a replay whose process computes, and hardly reads the store.
type computing struct{}

func (computing) Replay(ctx context.Context, _ replay.Order) (replay.Result, error) {
	select {
	case <-time.After(12 * time.Hour):
		return replay.Result{}, nil
	case <-ctx.Done():
		return replay.Result{}, replay.ErrRefused // as of a process that was killed
	}
}

// One crafted archive kept the slot for the replays of all namespaces for almost four hours. A restore of another namespace to a point in time,
// with its cluster down, waited for that. The crafted one must not be reported as a damaged archive, because the same may happen to an honest one.
func TestARestoreToAPointDoesNotWaitForHoursForAReplayOfAnotherNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Spool{replays: replays{computing{}, turns.NewGate(1)}}
		ended := make(chan error, 1)
		go func() {
			ctx, limit := limitReading(t.Context(), func() bool { return s.replays.slot.Crowds("crafted") })
			defer limit.stop()
			limit.begin(10 << 30) // 10 GiB, as its store lists
			_, err := s.replay(ctx, Asked{Namespace: "crafted"}, source.Point{}, "", func(int64, int64) {})
			ended <- fmt.Errorf("replay the archive: %w", err)
		}()
		synctest.Wait()
		began := time.Now()
		other, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		leave, err := s.replays.slot.Enter(other, "other")
		if waited := time.Since(began); err != nil || waited > 5*time.Minute {
			t.Errorf("the replay of another namespace waited %s, error %v", waited, err)
		}
		if err == nil {
			leave()
		}
		err = <-ended
		if failed := classify(err, v1beta2.RestoreSource{}); !errors.Is(err, turns.ErrOthersWaited) || failed.Final || failed.Reason != v1beta2.ReasonRetrying {
			t.Errorf("the status reports %+v", failed)
		}
	})
}
