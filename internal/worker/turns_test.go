package worker_test

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

// A pool had a limit for each namespace only if its caller asked for one. In the lanes of purges, restore tests and copies, and among
// the signers of URLs, no one did.
func TestANamespaceThatStallsLeavesASlotOfEachLaneToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := worker.NewLanes[int](map[string]int{"purge": 2, "snapshot": 4})
		stalls := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }
		at := func(namespace string, n int) worker.Key {
			return worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(n)}, UID: "1"}
		}
		for lane := range map[string]int{"purge": 2, "snapshot": 4} {
			for n := range 10 {
				pool.StartIn(worker.Key{Object: at("stalls", n).Object, UID: types.UID(lane)}, worker.Claim{Lane: lane}, stalls)
			}
			if why := pool.Why(at("stalls", 10), worker.Claim{Lane: lane}); why != turns.OwnShare {
				t.Errorf("%s: its own namespace would wait because %q", lane, why)
			}
			other := worker.Key{Object: at("other", 1).Object, UID: types.UID(lane)}
			pool.StartIn(other, worker.Claim{Lane: lane}, func(context.Context) (int, error) { return 1, nil })
			<-time.After(5 * time.Second)
			if _, done, _ := pool.Result(other); !done {
				t.Errorf("%s: the job of another namespace waits", lane)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = pool.Run(ctx)
	})
}
