package restore

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// A tenant has two restores to a point in time, whose archives compute without end. They hold two of three workers: one has the slot of replays, and
// one waits for it. One honest restore to a point of a second namespace takes the third worker, and waits for the slot, too. A restore of 1 KiB in a
// third namespace, which needs no slot, then waits for a worker: for half an hour, and for four hours after the tenant has repeated it.
func TestARestoreWithoutReplayDoesNotWaitForTheReplaysOfOthers(t *testing.T) {
	for name, repeated := range map[string]int{"the first time": 0, "after three attempts": 3} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := Spool{replays: replays{replaying(50 * time.Second), turns.NewGate(1)}}
				store := answering{segment: strings.Repeat("z", 1<<20)}
				for range repeated { // while others waited
					ended := make(chan error, 1)
					go func() { ended <- replayOf(t.Context(), s, "crafted", "", store, 1700, 64<<20) }()
					synctest.Wait()
					waited(t, s)
					<-ended
				}
				pool := worker.New[state.Proof](3) // options.MaxProofs of the chart
				start := func(namespace string, n int, run func(context.Context) error) worker.Key {
					key := worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(n)}, UID: types.UID(fmt.Sprint(namespace, n))}
					pool.Start(key, func(ctx context.Context) (state.Proof, error) { return state.Proof{}, run(ctx) })
					synctest.Wait()
					return key
				}
				for n := range 2 {
					start("crafted", n, func(ctx context.Context) error { return replayOf(ctx, s, "crafted", "", store, 1700, 64<<20) })
				}
				start("honest", 0, func(ctx context.Context) error {
					return replayOf(ctx, s, "honest", "", answering{segment: "z"}, 1, 1<<40)
				})
				small := start("small", 0, func(context.Context) error { return nil })
				began := time.Now()
				for {
					if _, done, _ := pool.Result(small); done || time.Since(began) > 24*time.Hour {
						break
					}
					<-time.After(time.Second)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("a restore of 1 KiB of another namespace waited %s for a worker", took)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_ = pool.Run(ctx)
			})
		})
	}
}
