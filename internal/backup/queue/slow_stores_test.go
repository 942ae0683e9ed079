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
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// Two namespaces have stores that accept 64 KiB a second, and timeoutSeconds of a day. They held all four workers of snapshots for that day, and no other
// namespace had a backup. It was the same with restore tests, deletions and copies, which have fewer workers.
func TestSlowStoresOfTwoNamespacesDelayNoAttemptOfAnotherForHours(t *testing.T) {
	for _, kind := range []state.Kind{state.KindSnapshot, state.KindDrill, state.KindPurge, state.KindCopy} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				options := Options{MaxConcurrent: 4, MaxPerNamespace: 2, MaxPerStore: 3, MaxRestoreTests: 1} // as in the chart
				lanes := options.Lanes()
				lanes[LaneCopy] = MaxCopies
				running := NewAttempts(lanes)
				start := func(namespace string, n int, run func(context.Context)) worker.Key {
					s := statetest.Series(func(s *state.State) { s.Namespace, s.Name = namespace, fmt.Sprint(n) })
					o := state.JobSpecOf(s)
					o.Kind, o.Target.Bucket, o.Copy = kind, namespace, &storage.Location{Bucket: namespace}
					key := worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: s.Name}, UID: types.UID(namespace + s.Name)}
					running.Start(key, options.Limits().Claim(o), &Progress{Kind: kind}, func(ctx context.Context, _ *Progress) state.Result {
						run(ctx)
						return state.Result{}
					})
					return key
				}
				for n := range 4 {
					for _, namespace := range []string{"slow", "slow too"} {
						start(namespace, n, func(ctx context.Context) {
							select {
							case <-time.After(24 * time.Hour):
							case <-ctx.Done():
							}
						})
					}
				}
				<-time.After(time.Minute)
				other := start("other", 0, func(context.Context) {})
				began := time.Now()
				for done := false; !done && time.Since(began) < 48*time.Hour; _, done, _ = running.Pool.Result(other) {
					<-time.After(time.Second)
				}
				if took := time.Since(began); took > 6*time.Minute {
					t.Errorf("an attempt of another namespace waited %s for a worker", took)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_ = running.Pool.Run(ctx)
			})
		})
	}
}
