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

// slowAttempts is a pool in which attempts of namespaces with slow stores run, one after the other.
type slowAttempts struct {
	*Attempts
	kind state.Kind
}

func newSlowAttempts(kind state.Kind) slowAttempts {
	lanes := Options{MaxConcurrent: 4, MaxRestoreTests: 1}.Lanes() // as in the chart
	lanes[LaneCopy] = MaxCopies
	return slowAttempts{NewAttempts(lanes), kind}
}

// start starts an attempt, which moves that many bytes a second for up to a day.
func (p slowAttempts) start(namespace string, n int, rate int64) worker.Key {
	s := statetest.Series(func(s *state.State) { s.Namespace, s.Name = namespace, fmt.Sprint(n) })
	o := state.JobSpecOf(s)
	o.Kind, o.Target.Bucket, o.Copy = p.kind, namespace, &storage.Location{Bucket: namespace}
	key := worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: s.Name}, UID: types.UID(namespace + s.Name)}
	options := Options{MaxConcurrent: 4, MaxPerNamespace: 2, MaxPerStore: 3, MaxRestoreTests: 1}
	p.Forget(key)
	p.Start(key, options.Limits().Claim(o), &Progress{Kind: p.kind}, func(ctx context.Context, progress *Progress) state.Result {
		report, began := progress.Passing("streaming", 4<<30), time.Now()
		for sent := int64(0); sent < 4<<30 && time.Since(began) < 24*time.Hour; sent += 10 * rate {
			report(sent)
			select {
			case <-time.After(10 * time.Second):
			case <-ctx.Done():
				return state.Result{Failure: &state.Failure{Message: fmt.Sprint(context.Cause(ctx))}}
			}
		}
		return state.Result{}
	})
	return key
}

// again starts an attempt again until one has no failure, or until ctx ends. It returns how long that took.
func (p slowAttempts) again(ctx context.Context, namespace string, n int, rate int64) time.Duration {
	began := time.Now()
	for ctx.Err() == nil {
		key := p.start(namespace, n, rate)
		for found := p.Find(key); ctx.Err() == nil; found = p.Find(key) {
			if found == nil || found.Result != nil && found.Result.Failure != nil {
				break
			}
			if found.Result != nil {
				return time.Since(began)
			}
			<-time.After(time.Second)
		}
	}
	return time.Since(began)
}

func (p slowAttempts) stop() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = p.Pool.Run(ctx)
}

// Two namespaces have stores that accept 64 KiB a second, and timeoutSeconds of a day. They held all four workers of snapshots for that day, and no other
// namespace had a backup. It was the same with restore tests and deletions, which have fewer workers.
func TestSlowStoresOfTwoNamespacesDelayNoAttemptOfAnotherForHours(t *testing.T) {
	for _, kind := range []state.Kind{state.KindSnapshot, state.KindDrill, state.KindPurge, state.KindCopy} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newSlowAttempts(kind)
				defer p.stop()
				for n := range 4 {
					for _, namespace := range []string{"slow", "slow too"} {
						p.start(namespace, n, 64<<10)
					}
				}
				<-time.After(time.Minute)
				if took := p.again(t.Context(), "other", 0, 4<<30); took > 6*time.Minute {
					t.Errorf("an attempt of another namespace waited %s for a worker", took)
				}
			})
		})
	}
}

// Four namespaces that always have two attempts with slow stores would hold all workers, and the places of as many attempts that run without one. So attempts
// end for others, and an honest attempt to a slow store still reaches its end.
func TestSlowStoresOfSevenNamespacesDelayNoSnapshotOfAnotherForHours(t *testing.T) {
	for _, kind := range []state.Kind{state.KindSnapshot, state.KindCopy} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newSlowAttempts(kind)
				defer p.stop()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				for i := range 7 {
					for n := range 3 {
						go p.again(ctx, fmt.Sprint("slow ", i), n, 1<<20)
					}
				}
				<-time.After(time.Minute)
				for n := range 3 {
					if took := p.again(ctx, "other", n, 4<<30); took > 20*time.Minute {
						t.Errorf("attempt %d of another namespace waited %s for a worker", n, took)
					}
				}
				limited, cancel := context.WithTimeout(ctx, 24*time.Hour)
				defer cancel()
				if took := p.again(limited, "honest", 0, 1<<20); took >= 24*time.Hour {
					t.Error("an honest attempt to a slow store has not ended after a day")
				}
				stop()
				<-time.After(time.Minute)
			})
		})
	}
}
