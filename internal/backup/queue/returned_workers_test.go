package queue

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// One tenant has six EtcdBackups of a store that answers a byte now and then. Their databases are checked one after the other, and each of those that
// wait has left its worker. After its check each comes back at once, whether there is a worker or not, and waits for the store: for the listing with
// which it deletes old snapshots, up to 2 hours. If the slots that they have left were for the same tenant, it would hold all workers.
func TestOneNamespaceDoesNotHoldAllWorkersAfterItsChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slot := turns.NewGate(1)
		options := Options{MaxConcurrent: 4, MaxPerNamespace: 2, MaxPerStore: 3, MaxRestoreTests: 1} // as in the chart
		running := NewAttempts(options.Lanes())
		start := func(namespace string, n int, run func(context.Context)) worker.Key {
			s := statetest.Series(func(s *state.State) { s.Namespace, s.Name = namespace, fmt.Sprint(n) })
			o := state.JobSpecOf(s)
			o.Kind, o.Target.Bucket = state.KindSnapshot, namespace
			key := worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: s.Name}, UID: types.UID(namespace + s.Name)}
			running.Start(key, options.Limits().Claim(o), &Progress{Kind: state.KindSnapshot}, func(ctx context.Context, _ *Progress) state.Result {
				run(ctx)
				return state.Result{}
			})
			synctest.Wait()
			return key
		}
		for n := range 6 {
			start("hostile", n, func(ctx context.Context) {
				if checked(ctx, slot, "hostile", 1<<10, 100*time.Millisecond) == nil {
					select { // the listing of a store that stalls, objstore.DefaultLimits
					case <-time.After(2 * time.Hour):
					case <-ctx.Done():
					}
				}
			})
		}
		<-time.After(time.Minute)
		if _, holds := running.Pool.Queue(LaneOf[state.KindSnapshot]); holds > 2 {
			t.Errorf("one namespace holds %d workers, and may have 2", holds)
		}
		small := start("small", 0, func(context.Context) {})
		began := time.Now()
		for done := false; !done && time.Since(began) < 24*time.Hour; _, done, _ = running.Pool.Result(small) {
			<-time.After(time.Second)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("a backup of 1 KiB of another namespace waited %s for a worker", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = running.Pool.Run(ctx)
	})
}
