package restore

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/restore/plan"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// The signers of URLs had no limit for a namespace.
func TestANamespaceThatStallsLeavesAWorkerOfEachKindToOthers(t *testing.T) {
	r := newPools(3)
	t.Run("readings", func(t *testing.T) { stall(t, r.proofs) })
	t.Run("safety snapshots", func(t *testing.T) { stall(t, r.safeties) })
	t.Run("signed URLs", func(t *testing.T) { stall(t, r.renewals) })
}

func newPools(limit int) *Reconciler {
	return &Reconciler{proofs: worker.New[plan.Proof](limit), safeties: worker.New[plan.Safety](limit), renewals: worker.New[plan.Renewal](limit)}
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
