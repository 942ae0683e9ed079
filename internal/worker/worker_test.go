package worker_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

func key(name, uid string) worker.Key {
	return worker.Key{Object: types.NamespacedName{Namespace: "ns", Name: name}, UID: types.UID(uid)}
}

// until returns a job that runs until its context ends and then increments ended.
func until(ended *atomic.Int32) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		<-ctx.Done()
		ended.Add(1)
		return 0, ctx.Err()
	}
}

func value(v int) func(context.Context) (int, error) {
	return func(context.Context) (int, error) { return v, nil }
}

func TestResultIsKeptUntilForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := worker.New[int](1)
		if !pool.Start(key("a", "1"), value(7)) {
			t.Fatal("the first start was refused")
		}
		synctest.Wait()
		if pool.Start(key("a", "1"), value(8)) {
			t.Error("a second start was accepted while a result is there")
		}
		for range 2 {
			if got, done, err := pool.Result(key("a", "1")); got != 7 || !done || err != nil {
				t.Errorf("result %d, %v, %v", got, done, err)
			}
		}
		pool.Forget(key("a", "1"))
		if _, done, _ := pool.Result(key("a", "1")); done {
			t.Error("a result is there after it was forgotten")
		}
		if !pool.Start(key("a", "1"), value(9)) {
			t.Error("a start was refused after the result was forgotten")
		}
		synctest.Wait()
	})
}

func TestPoolLimitsConcurrentJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := worker.New[int](3)
		var running atomic.Int32
		release := make(chan struct{})
		for _, name := range []string{"a", "b", "c"} {
			pool.Start(key(name, "1"), func(context.Context) (int, error) {
				running.Add(1)
				<-release
				return 0, nil
			})
		}
		synctest.Wait()
		if got := running.Load(); got != 2 {
			t.Errorf("%d jobs run at once", got)
		}
		for _, name := range []string{"a", "b", "c"} {
			if !pool.Running(key(name, "1")) {
				t.Errorf("%s neither runs nor waits", name)
			}
		}
		close(release)
		synctest.Wait()
		if got := running.Load(); got != 3 {
			t.Errorf("%d jobs ran in the end", got)
		}
	})
}

func TestJobsStartInOrderWithinTheirLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := worker.NewLanes[int](map[string]int{"save": 2, "test": 1})
		var order []string
		var mu sync.Mutex
		release := make(chan struct{})
		start := func(name, lane, group string) {
			pool.StartIn(key(name, "1"), worker.Claim{Lane: lane, Namespace: 2, Groups: map[string]int{group: 1}}, func(context.Context) (int, error) {
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				<-release
				return 0, nil
			})
			synctest.Wait()
		}
		start("a1", "save", "a")
		start("a2", "save", "a")
		start("b1", "save", "b")
		start("c1", "save", "c")
		start("t1", "test", "a")
		if got := strings.Join(order, " "); got != "a1 b1 t1" {
			t.Errorf("running: %s; a namespace or a lane delays others", got)
		}
		if waiting, running := pool.Queue("save"); waiting != 2 || running != 2 {
			t.Errorf("%d wait and %d run", waiting, running)
		}
		close(release)
		synctest.Wait()
		if got := strings.Join(order, " "); got != "a1 b1 t1 a2 c1" && got != "a1 b1 t1 c1 a2" {
			t.Errorf("ran: %s", got)
		}
	})
}

// All EtcdBackups are due in the same minute, and one bucket has fewer slots than the lane. Without turns, the namespace with the
// most of them takes all slots, and the others wait for its last one.
func TestNamespacesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := worker.NewLanes[int](map[string]int{"save": 4, "other": 1})
		last := map[string]time.Duration{}
		var mu sync.Mutex
		begin := time.Now()
		start := func(namespace, lane string, n int) {
			for i := range n {
				key := worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: strconv.Itoa(i)}, UID: "1"}
				claim := worker.Claim{Lane: lane, Namespace: 3, Groups: map[string]int{"store": 3}}
				pool.StartIn(key, claim, func(context.Context) (int, error) {
					<-time.After(time.Second)
					mu.Lock()
					defer mu.Unlock()
					last[lane+" "+namespace] = time.Since(begin)
					return 0, nil
				})
			}
		}
		start("huge", "save", 60)
		start("large", "save", 25)
		start("small", "save", 3)
		start("single", "save", 1)
		start("another", "other", 2)
		synctest.Wait()
		<-time.After(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		for what, limit := range map[string]time.Duration{
			"save single": 3 * time.Second, "save small": 5 * time.Second, "save large": 20 * time.Second, "save huge": 40 * time.Second, "other another": 2 * time.Second,
		} {
			if last[what] == 0 || last[what] > limit {
				t.Errorf("%s is done after %s, limit %s", what, last[what], limit)
			}
		}
	})
}

func TestAThousandWaitingJobsRunInOrderAndNeedLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const jobs = 1000
		pool := worker.NewLanes[int](map[string]int{"": 5})
		var order []int
		var mu sync.Mutex
		var running, most atomic.Int32
		before := runtime.NumGoroutine()
		for i := range jobs {
			pool.Start(key(strconv.Itoa(i), "1"), func(context.Context) (int, error) {
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				most.Store(max(most.Load(), running.Add(1)))
				<-time.After(time.Second)
				running.Add(-1)
				return 0, nil
			})
		}
		if got := runtime.NumGoroutine() - before; got > 10 {
			t.Errorf("%d goroutines for %d jobs of which 4 run", got, jobs)
		}
		<-time.After(jobs * time.Second)
		if most.Load() != 4 || len(order) != jobs {
			t.Errorf("%d jobs ran, %d at once", len(order), most.Load())
		}
		for place, i := range order {
			if place-i > 4 || i-place > 4 {
				t.Fatalf("job %d ran in place %d", i, place)
			}
		}
	})
}

func TestJobWaitsUntilAForgottenOneOfItsKeyHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := worker.New[int](2)
		release := make(chan struct{})
		pool.Start(key("a", "1"), func(context.Context) (int, error) { <-release; return 0, nil })
		pool.Forget(key("a", "1"))
		var began atomic.Bool
		pool.Start(key("a", "1"), func(context.Context) (int, error) { began.Store(true); return 0, nil })
		synctest.Wait()
		if began.Load() {
			t.Error("two jobs of one object ran at once: a deletion races with the upload before it")
		}
		close(release)
		synctest.Wait()
		if !began.Load() {
			t.Error("the second job did not start")
		}
	})
}

func TestJobIsCancelledWithItsObject(t *testing.T) {
	for name, test := range map[string]struct {
		forget func(*worker.Pool[int])
		left   bool
	}{
		"after Forget":                                     {func(p *worker.Pool[int]) { p.Forget(key("a", "1")) }, false},
		"after the object was deleted":                     {func(p *worker.Pool[int]) { p.ForgetOthers(key("a", "").Object, "") }, false},
		"after the object was recreated":                   {func(p *worker.Pool[int]) { p.ForgetOthers(key("a", "").Object, "2") }, false},
		"not if it belongs to the new object":              {func(p *worker.Pool[int]) { p.ForgetOthers(key("a", "").Object, "1") }, true},
		"not if an earlier object of the name was deleted": {func(p *worker.Pool[int]) { p.Forget(key("a", "2")) }, true},
		"not if another object was deleted":                {func(p *worker.Pool[int]) { p.ForgetOthers(key("b", "").Object, "") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool := worker.New[int](1)
				var ended atomic.Int32
				pool.Start(key("a", "1"), until(&ended))
				synctest.Wait()
				test.forget(pool)
				synctest.Wait()
				if got := pool.Running(key("a", "1")); got != test.left {
					t.Errorf("running is %v", got)
				}
				if got := ended.Load() == 0; got != test.left {
					t.Errorf("the job's context ended %d times", ended.Load())
				}
				pool.Forget(key("a", "1"))
			})
		})
	}
}

func TestForgottenJobDoesNotOverwriteTheResultOfItsSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := worker.New[int](2)
		release := make(chan struct{})
		pool.Start(key("a", "1"), func(context.Context) (int, error) { <-release; return 1, nil })
		synctest.Wait()
		pool.Forget(key("a", "1"))
		pool.Start(key("a", "1"), value(2))
		synctest.Wait()
		close(release)
		synctest.Wait()
		if got, _, _ := pool.Result(key("a", "1")); got != 2 {
			t.Errorf("result %d", got)
		}
	})
}

func TestPanicOfAJobIsItsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := worker.New[int](1)
		pool.Start(key("a", "1"), func(context.Context) (int, error) { return len(os.Args[len(os.Args)]), nil })
		synctest.Wait()
		_, done, err := pool.Result(key("a", "1"))
		var caught *panics.Error
		if !done || !errors.As(err, &caught) || caught.Value == nil || len(caught.Stack) == 0 {
			t.Errorf("done %v, error %v", done, err)
		}
		pool.Start(key("b", "1"), value(1))
		synctest.Wait()
		if _, done, _ := pool.Result(key("b", "1")); !done {
			t.Error("the panic kept its slot")
		}
	})
}

func TestPoolStopsWithTheManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := worker.New[int](1)
		var ended atomic.Int32
		pool.Start(key("a", "1"), until(&ended))
		pool.Start(key("b", "1"), until(&ended))
		ctx, cancel := context.WithCancel(t.Context())
		returned := make(chan error, 1)
		go func() { returned <- pool.Run(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-returned; err != nil {
			t.Errorf("run: %v", err)
		}
		if got := ended.Load(); got != 1 {
			t.Errorf("%d running jobs ended before Run returned", got)
		}
		if pool.Start(key("c", "1"), value(1)) {
			t.Error("a start was accepted after the end")
		}
	})
}

func TestFinishedJobTriggersAReconcileOfItsObject(t *testing.T) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	pool := worker.New[int](1)
	if err := pool.Source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	pool.Start(key("a", "1"), value(1))
	if got, _ := queue.Get(); got.NamespacedName != key("a", "1").Object {
		t.Errorf("reconciles %v", got)
	}
}

// Without this, snapshots wait behind attempts that only wait for a restore test.
func TestAJobThatMovesToAnotherLaneLeavesItsSlotToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := worker.NewLanes[int](map[string]int{"lane": 1})
		first, second := key("first", "1"), key("second", "2")
		end := make(chan struct{})
		claim := worker.Claim{Lane: "lane", Groups: map[string]int{"group": 1}}
		pool.StartIn(first, claim, func(context.Context) (int, error) { <-end; return 1, nil })
		pool.StartIn(second, claim, func(context.Context) (int, error) { return 2, nil })
		synctest.Wait()
		if !pool.Waiting(second) {
			t.Error("the limits do not apply")
		}
		pool.Move(first, "other")
		synctest.Wait()
		if _, done, _ := pool.Result(second); !done {
			t.Error("the second job still waits")
		}
		if _, running := pool.Queue("other"); running != 1 {
			t.Errorf("%d jobs run in the other lane", running)
		}
		close(end)
		synctest.Wait()
		if _, running := pool.Queue("other"); running != 0 {
			t.Errorf("%d jobs are still counted", running)
		}
	})
}
