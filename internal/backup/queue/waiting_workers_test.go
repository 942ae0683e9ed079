package queue

import (
	"context"
	"errors"
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

// checked is what save.Snapshot does in its worker after the snapshot is in the spool: dbcheck.Inspect, in the slot of files above 256 MiB.
func checked(ctx context.Context, slot *turns.Gate, namespace string, size int64, computes time.Duration) error {
	leave, err := slot.Enter(ctx, namespace)
	if err != nil {
		return err
	}
	defer leave()
	return slot.Limited(ctx, namespace, size, func(ctx context.Context, _ *turns.Allowance) error {
		select {
		case <-time.After(computes):
			return nil
		case <-ctx.Done():
			return errors.New("the process was killed")
		}
	})
}

// A tenant has two EtcdBackups of an etcd of their own, whose databases are checked without end. They hold two of the four workers: one has the slot of
// checks, and one waits for it. Another namespace with two databases above 256 MiB takes the other two workers, and waits for the slot, too. The backup of
// 1 KiB of a third namespace needs another slot, and waited for a worker for hours.
func TestASmallBackupDoesNotWaitForTheChecksOfOthers(t *testing.T) {
	for name, test := range map[string]struct {
		repeated int
		size     int64
	}{
		"1 GiB, the first time":       {0, 1 << 30},
		"1 GiB, after three attempts": {3, 1 << 30},
		"8 GiB, after three attempts": {3, 8 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slot := turns.NewGate(1)
				for range test.repeated { // while others waited
					ended := make(chan error, 1)
					go func() { ended <- checked(t.Context(), slot, "crafted", test.size, 24*time.Hour) }()
					synctest.Wait()
					_ = checked(t.Context(), slot, "honest", 0, time.Second)
					<-ended
				}
				options := Options{MaxConcurrent: 4, MaxPerNamespace: 2, MaxPerStore: 3, MaxRestoreTests: 1} // as in the chart
				running := NewAttempts(options.Lanes())
				start := func(namespace string, n int, run func(context.Context) error) worker.Key {
					s := statetest.Series(func(s *state.State) { s.Namespace, s.Name = namespace, fmt.Sprint(n) })
					o := state.JobSpecOf(s)
					o.Kind, o.Target.Bucket = state.KindSnapshot, namespace
					key := worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: s.Name}, UID: types.UID(namespace + s.Name)}
					running.Start(key, options.Limits().Claim(o), &Progress{Kind: state.KindSnapshot}, func(ctx context.Context, _ *Progress) state.Result {
						_ = run(ctx)
						return state.Result{}
					})
					synctest.Wait()
					return key
				}
				for n := range 2 {
					start("crafted", n, func(ctx context.Context) error { return checked(ctx, slot, "crafted", test.size, 24*time.Hour) })
				}
				for n := range 2 {
					start("honest", n, func(ctx context.Context) error { return checked(ctx, slot, "honest", 1<<30, 10*time.Second) })
				}
				small := start("small", 0, func(context.Context) error { return nil })
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
		})
	}
}
