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
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// patience is how long something of one namespace may wait while another one stalls.
const patience = 5 * time.Second

// One namespace had all slots of a bucket, of the deletions, of the copies or of the restore tests.
func TestANamespaceThatStallsDelaysNoAttemptOfAnother(t *testing.T) {
	options := Options{MaxConcurrent: 4, MaxPerNamespace: 3, MaxPerStore: 3, MaxRestoreTests: 1}
	for _, kind := range []state.Kind{state.KindSnapshot, state.KindDrill, state.KindPurge, state.KindPrune, state.KindCopy} {
		t.Run("kind "+string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lanes := options.Lanes()
				lanes[LaneCopy] = MaxCopies
				attempts := NewAttempts(lanes)
				start := func(namespace string, n int, run func(context.Context)) worker.Key {
					o := state.JobSpecOf(statetest.One())
					o.Kind, o.Namespace, o.Copy = kind, namespace, &o.Target
					name := fmt.Sprint(namespace, n)
					key := worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: name}, UID: types.UID(name)}
					attempts.Start(key, options.Limits().Claim(o), &Progress{Kind: kind}, func(ctx context.Context, _ *Progress) state.Result { run(ctx); return state.Result{} })
					return key
				}
				var last worker.Key
				for n := range 10 {
					last = start("stalls", n, func(ctx context.Context) { <-ctx.Done() })
				}
				other := start("other", 0, func(context.Context) {})
				<-time.After(patience)
				if _, done, _ := attempts.Pool.Result(other); !done {
					t.Errorf("the attempt of another namespace waits: %+v", attempts.Find(other))
				}
				if found := attempts.Find(last); !found.Queued || found.Progress.Why != turns.OwnShare {
					t.Errorf("the last attempt of the namespace: %+v", found)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_ = attempts.Pool.Run(ctx)
			})
		})
	}
}

// A restore test held the memory of all restore tests while it read from a store that stalled.
func TestAStoreThatStallsKeepsNoMemoryOfRestoreTests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		limits := NewTests(1, 0, func(context.Context, dbfile.Trial) (dbfile.KVHash, error) { return dbfile.KVHash{Hash: 7}, nil })
		stall := func(progress *Progress) {
			if done, err := limits.Enter(ctx, "stalls", progress); err == nil {
				<-ctx.Done()
				done()
			}
		}
		for range 5 {
			go stall(&Progress{})
		}
		synctest.Wait()
		waits := &Progress{}
		go stall(waits)
		synctest.Wait()
		if got := waits.now(); got.Why != turns.OwnShare {
			t.Errorf("the other tests of the namespace wait: %q", got)
		}
		begin, progress := time.Now(), &Progress{}
		done, err := limits.Enter(ctx, "other", progress)
		if err != nil {
			t.Fatal(err)
		}
		if hash, err := limits.Trial("other", progress)(ctx, dbfile.Trial{}); err != nil || hash.Hash != 7 {
			t.Errorf("hash %d, error %v", hash.Hash, err)
		}
		if done(); time.Since(begin) > patience {
			t.Errorf("it waited for %s", time.Since(begin))
		}
		cancel()
		synctest.Wait()
	})
}
