package restore

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// A namespace has many restores that pass a slot one after the other, and then wait for its store, which stalls. Each that waits for the slot has left its
// worker, and returns after the slot even if there is no worker. If the next one of the same namespace could take the left worker, the namespace would
// hold five workers, although it may have two.
//
// Readings: a restore to a point replays its archive in a slot, and then uploads the result (storePoint) to the store of the tenant. One namespace holds
// all three workers, for up to a day. Safety snapshots: each is checked in a slot, and then its draft, its manifest and a listing need the store. Two
// namespaces hold all six workers for 14 minutes, and the restore of a third one continues without its safety snapshot.
func TestNamespacesLeaveAWorkerToOthersAfterASlot(t *testing.T) {
	for name, test := range map[string]struct {
		workers int
		claim   worker.Claim
		hostile []string
		context func(context.Context) (context.Context, context.CancelFunc)
	}{
		"readings": {3, worker.Claim{}, []string{"hostile"}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, readMost)
		}},
		"safety snapshots": {safetyWorkers(3), worker.Claim{Namespace: safetiesOfOne}, []string{"hostile", "hostile too"}, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(turns.Urgent(ctx), safetyTimeout)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool := worker.New[int](test.workers)
				start := func(namespace string, n int, run func(context.Context)) worker.Key {
					key := worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(n)}, UID: types.UID(fmt.Sprint(namespace, n))}
					pool.StartIn(key, test.claim, func(ctx context.Context) (int, error) {
						ctx, cancel := test.context(ctx)
						defer cancel()
						run(ctx)
						return 0, nil
					})
					synctest.Wait()
					return key
				}
				for _, namespace := range test.hostile {
					gate := turns.NewGate(1)
					for n := range 8 {
						start(namespace, n, func(ctx context.Context) {
							leave, err := gate.Enter(ctx, namespace)
							if err != nil {
								return
							}
							<-time.After(100 * time.Millisecond)
							leave()
							<-ctx.Done() // its store stalls
						})
					}
				}
				<-time.After(time.Minute)
				_, holds := pool.Queue("")
				t.Logf("%d namespaces hold %d of %d workers", len(test.hostile), holds, test.workers)
				other := start("other", 0, func(context.Context) {})
				began := time.Now()
				for done := false; !done && time.Since(began) < 24*time.Hour; _, done, _ = pool.Result(other) {
					<-time.After(time.Second)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("the job of another namespace waited %s for a worker, because %d namespaces with 2 workers each hold %d of %d", took, len(test.hostile), holds, test.workers)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_ = pool.Run(ctx)
			})
		})
	}
}
