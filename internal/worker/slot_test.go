package worker_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

func of(namespace string, n int) worker.Key {
	return worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: strconv.Itoa(n)}, UID: "1"}
}

// Two namespaces whose jobs wait for another queue held all workers. The job of a third namespace, which needs nothing else, waited for hours.
func TestAJobThatWaitsElsewhereHoldsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, wait := range map[string]func(ctx context.Context, namespace string) (func(), error){
			"a gate":   turns.NewGate(1).Enter,
			"a budget": func(ctx context.Context, namespace string) (func(), error) { return full.Wait(ctx, namespace, 8) },
		} {
			pool := worker.New[int](4)
			held, err := wait(t.Context(), "holder")
			if err != nil {
				t.Fatal(err)
			}
			var began atomic.Int32
			for n := range 200 {
				pool.Start(of("many", n), func(ctx context.Context) (int, error) {
					began.Add(1)
					_, err := wait(ctx, "many")
					return 0, err
				})
			}
			synctest.Wait()
			pool.Start(of("small", 0), value(1))
			synctest.Wait()
			if _, done, _ := pool.Result(of("small", 0)); !done {
				t.Errorf("%s: a job that needs nothing else waits for a worker", name)
			}
			if n := began.Load(); n > 6 { // 4, and those that had begun with the last of them
				t.Errorf("%s: %d jobs of one namespace wait there, and each holds an open store", name, n)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = pool.Run(ctx)
			held()
		}
	})
}

var full = turns.NewBudget(9)

// When space is free, hundreds of jobs that waited for it would run at the same time, with the memory of each.
func TestJobsThatWaitedForSpaceRunWithinTheLimitOfTheirLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget, pool := turns.NewBudget(8000), worker.New[int](2)
		release, err := budget.Wait(t.Context(), "holder", budget.Most())
		if err != nil {
			t.Fatal(err)
		}
		var running, most, ended atomic.Int32
		for n := range 20 {
			namespace := "n" + strconv.Itoa(n)
			pool.Start(of(namespace, 0), func(ctx context.Context) (int, error) {
				done, err := budget.Wait(ctx, namespace, 2000)
				if err != nil {
					return 0, err
				}
				defer done()
				most.Store(max(most.Load(), running.Add(1)))
				<-time.After(time.Second)
				running.Add(-1)
				ended.Add(1)
				return 0, nil
			})
		}
		synctest.Wait()
		release()
		<-time.After(time.Minute)
		if ended.Load() != 20 || most.Load() > 2 {
			t.Errorf("%d jobs ended, and %d ran at the same time", ended.Load(), most.Load())
		}
	})
}

// A restore test that moved to another lane while it waited for a worker ran until its time limit, and the snapshot counted as untested.
func TestAJobThatMovesDoesNotWaitForTheLaneThatItLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := worker.New[int](1)
		var moved, other sync.WaitGroup
		other.Add(1)
		moved.Add(1)
		pool.Start(of("moved", 0), func(ctx context.Context) (int, error) {
			back := turns.LeaveForMany(ctx)
			<-time.After(time.Second) // the other job begins
			back()
			moved.Done()
			return 0, nil
		})
		pool.Start(of("other", 0), func(context.Context) (int, error) { other.Wait(); return 0, nil })
		<-time.After(2 * time.Second)
		if waiting, running := pool.Queue(""); waiting != 1 || running != 1 {
			t.Errorf("%d jobs wait for a worker, and %d run", waiting, running)
		}
		pool.Move(of("moved", 0), "elsewhere")
		moved.Wait()
		other.Done()
		synctest.Wait()
		for _, lane := range []string{"", "elsewhere"} {
			if waiting, running := pool.Queue(lane); waiting != 0 || running != 0 {
				t.Errorf("lane %q: %d jobs wait for a worker, and %d run", lane, waiting, running)
			}
		}
	})
}

// What a job had started and left behind gave a slot back a second time, so that more jobs ran than fit into the memory.
func TestWhatAJobLeavesBehindGivesNoSlotBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, contexts := worker.New[int](1), make(chan context.Context, 1)
		pool.Start(of("gone", 0), func(ctx context.Context) (int, error) {
			contexts <- ctx
			return 0, nil
		})
		synctest.Wait()
		defer turns.Leave(<-contexts)()
		var running atomic.Int32
		for n := range 3 {
			pool.Start(of("n"+strconv.Itoa(n), 0), func(ctx context.Context) (int, error) {
				running.Add(1)
				<-ctx.Done()
				return 0, context.Cause(ctx)
			})
		}
		synctest.Wait()
		if n := running.Load(); n != 1 {
			t.Errorf("%d jobs run at the same time", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = pool.Run(ctx)
	})
}

// The context of a job ends while it waits for a worker, because its object was deleted. The job must end, and its slot must be free for others.
func TestAForgottenJobThatWaitsForItsWorkerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := worker.New[int](1)
		var other sync.WaitGroup
		other.Add(1)
		pool.Start(of("deleted", 0), func(ctx context.Context) (int, error) {
			back := turns.LeaveForMany(ctx)
			<-time.After(time.Second)
			back()
			return 0, context.Cause(ctx)
		})
		pool.Start(of("other", 0), func(context.Context) (int, error) { other.Wait(); return 0, nil })
		<-time.After(2 * time.Second)
		pool.ForgetOthers(of("deleted", 0).Object, "")
		synctest.Wait()
		if pool.Busy(of("deleted", 0)) {
			t.Error("the job of a deleted object still waits for a worker")
		}
		other.Done()
		synctest.Wait()
		pool.Start(of("later", 0), value(1))
		synctest.Wait()
		if _, done, _ := pool.Result(of("later", 0)); !done {
			t.Error("no slot is free after the jobs have ended")
		}
	})
}
