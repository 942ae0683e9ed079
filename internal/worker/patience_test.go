package worker_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// Three namespaces with slow members held all six workers of safety snapshots for 14 minutes. The restore of a fourth one continued without its safety
// snapshot, and the data before it was lost.
func TestSlowJobsOfAFewNamespacesLeaveTheirWorkersToOthers(t *testing.T) {
	for name, test := range map[string]struct {
		waitsElsewhere bool
		most           time.Duration
	}{"it waits for its server": {false, time.Minute}, "it returns from another queue": {true, 2 * time.Minute}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool, claim := worker.New[int](6), worker.Claim{Namespace: 2, Patience: time.Minute}
				var running, ended atomic.Int32
				slow := func(ctx context.Context) (int, error) {
					running.Add(1)
					defer running.Add(-1)
					if test.waitsElsewhere {
						back := turns.Leave(ctx)
						<-time.After(30 * time.Second)
						back()
					}
					select {
					case <-time.After(14 * time.Minute):
						ended.Add(1)
						return 0, nil
					case <-ctx.Done():
						return 0, context.Cause(ctx)
					}
				}
				for _, namespace := range []string{"slow1", "slow2", "slow3"} {
					for n := range 4 {
						pool.StartIn(of(namespace, n), claim, slow)
					}
				}
				<-time.After(31 * time.Second)
				other := of("other", 0)
				pool.StartIn(other, claim, value(1))
				<-time.After(test.most)
				if _, done, _ := pool.Result(other); !done {
					t.Error("another namespace waits for a worker")
				}
				if n := running.Load(); n != 6 {
					t.Errorf("%d slow jobs run, and three namespaces may have two each", n)
				}
				<-time.After(14 * time.Minute)
				if n := ended.Load(); n != 6 {
					t.Errorf("%d slow jobs have ended well: one that loses its worker must run on", n)
				}
				end(t, pool)
			})
		})
	}
}

// Each job has a connection and buffers, so their number has a bound even if a tenant has many namespaces.
func TestAsManyJobsAsThereAreWorkersRunWithoutOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, claim := worker.New[int](6), worker.Claim{Namespace: 2, Patience: time.Minute}
		var running atomic.Int32
		for n := range 40 {
			pool.StartIn(of("n"+strconv.Itoa(n), 0), claim, func(ctx context.Context) (int, error) {
				running.Add(1)
				defer running.Add(-1)
				<-ctx.Done()
				return 0, context.Cause(ctx)
			})
		}
		<-time.After(time.Hour)
		if n := running.Load(); n != 12 {
			t.Errorf("%d jobs run, and there are 6 workers", n)
		}
		end(t, pool)
	})
}

// The worker of a job that has lost it is not given back twice.
func TestAJobThatHasLostItsWorkerGivesNoneBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := worker.New[int](1)
		slow := worker.Claim{Patience: time.Minute}
		pool.StartIn(of("slow", 0), slow, func(ctx context.Context) (int, error) {
			<-time.After(5 * time.Minute)
			return 0, ctx.Err()
		})
		<-time.After(2 * time.Minute)
		for n := range 3 {
			pool.Start(of("n"+strconv.Itoa(n), 0), func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, errors.New("ended") })
		}
		<-time.After(10 * time.Minute)
		if waiting, running := pool.Queue(""); waiting != 2 || running != 1 {
			t.Errorf("%d jobs wait, and %d run", waiting, running)
		}
		end(t, pool)
	})
}

func end(t *testing.T, pool *worker.Pool[int]) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = pool.Run(ctx)
}

// A job with patience moved to a lane without one, and its timer then fired again and again without a pause. The operator used a whole processor for it, so
// the work of all users was slow.
func TestAJobThatMovesIsNotLookedAtAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := worker.New[int](1)
		moves := of("moves", 0)
		pool.StartIn(moves, worker.Claim{Patience: time.Minute}, func(ctx context.Context) (int, error) {
			<-time.After(time.Hour)
			return 1, nil
		})
		synctest.Wait()
		pool.Move(moves, "elsewhere")
		<-time.After(2 * time.Hour) // a timer without a pause would keep the clock of the test from moving
		if _, done, _ := pool.Result(moves); !done {
			t.Error("it has not ended")
		}
		end(t, pool)
	})
}

// Two tenants created thousands of objects, whose jobs waited. For each job that started, ended or waited elsewhere, the pool compared each of these with each
// other one, and the passes of all namespaces waited for the pool meanwhile.
func TestThousandsOfWaitingJobsDelayNoPass(t *testing.T) {
	const jobs = 1000
	pool, claim := worker.New[int](3), worker.Claim{Patience: time.Hour}
	wait := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, context.Cause(ctx) }
	one := worker.Claim{Namespace: 1, Patience: time.Hour}
	for _, namespace := range []string{"a", "b", "c"} { // all slots are in use, and each namespace could have one more
		pool.StartIn(of(namespace, 0), one, wait)
	}
	began := time.Now()
	for n := range jobs {
		pool.StartIn(of("a", n+1), claim, wait)
		pool.StartIn(of("b", n+1), claim, wait)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("%d jobs were queued in %s", 2*jobs, took)
	}
	end(t, pool)
}
